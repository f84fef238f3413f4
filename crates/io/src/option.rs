//! The options of runs, each declared once: name, type, default, help, group and what it sets.
//!
//! Signatures, stubs, the command line and the reference pages are made of [`OPTIONS`]. To add an
//! option, add an entry here and the field that it sets.

mod declared;

use crate::capture::Capture;
use crate::error::Error;
use crate::simulate::Request;
use crate::stream::Source;
pub use declared::OPTIONS;
use std::path::PathBuf;
use tcpwhy_core::pipeline::Options;
use tcpwhy_core::units::Nanos;

/// What takes options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Captures.
    Analyze,
    /// Live links.
    Monitor,
    /// Scenarios.
    Simulate,
}

impl Command {
    /// Every command.
    pub const ALL: [Command; 3] = [Command::Analyze, Command::Monitor, Command::Simulate];

    /// The name, as in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Command::Analyze => "analyze",
            Command::Monitor => "monitor",
            Command::Simulate => "simulate",
        }
    }
}

/// The type of an option, with its bounds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A span of time above 0; its value is in ns.
    Duration,
    /// A whole number from this on.
    Count(u64),
    /// A number of bytes from this on.
    Bytes(u64),
    /// A number above 0.
    Factor,
    /// Any text; shown as this.
    Text(&'static str),
    /// A path; shown as this.
    Path(&'static str),
    /// One of these.
    Choice(&'static [&'static str]),
    /// Yes or no.
    Flag,
}

impl Kind {
    /// The name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Duration => "duration",
            Kind::Count(_) => "count",
            Kind::Bytes(_) => "bytes",
            Kind::Factor => "factor",
            Kind::Text(_) => "text",
            Kind::Path(_) => "path",
            Kind::Choice(_) => "choice",
            Kind::Flag => "flag",
        }
    }
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of a duration (ns), a count or a number of bytes.
    Number(u64),
    /// Of a factor.
    Factor(f64),
    /// Of a text, a path or a choice.
    Text(String),
    /// Of a flag.
    Flag(bool),
}

/// What is used where an option is not given.
#[derive(Clone, Copy, Debug)]
pub enum Default {
    /// Nothing; this is what happens then.
    None(&'static str),
    /// A number, in the base unit.
    Number(u64),
    /// A choice.
    Text(&'static str),
    /// Yes or no.
    Flag(bool),
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    /// The keyword in Python. The word on the command line has hyphens instead.
    pub name: &'static str,
    /// What takes it.
    pub commands: &'static [Command],
    /// Under which title help lists it; API options have none and no word on the command line.
    pub group: Option<&'static str>,
    /// The type.
    pub kind: Kind,
    /// The value where it is not given.
    pub default: Default,
    /// What it does, as a sentence.
    pub help: &'static str,
    /// Puts a value in its place.
    pub set: fn(&mut Settings, Value),
}

/// Everything that options set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What is computed.
    pub analysis: Options,
    /// What is read.
    pub source: Source,
    /// What is captured.
    pub capture: Capture,
    /// What is simulated.
    pub simulation: Request,
    /// The tap of a simulation that is analysed.
    pub tap: Option<String>,
}

impl Settings {
    /// The defaults of a command.
    pub fn of(command: Command) -> Settings {
        let mut settings = Settings {
            analysis: Options::default(),
            source: Source::default(),
            capture: Capture::default(),
            simulation: Request::new(PathBuf::new()),
            tap: None,
        };
        for option in options_of(command) {
            let value = match option.default {
                Default::None(_) => continue,
                Default::Number(number) => Value::Number(number),
                Default::Text(text) => Value::Text(text.to_owned()),
                Default::Flag(flag) => Value::Flag(flag),
            };
            (option.set)(&mut settings, value);
        }
        settings
    }

    /// Sets an option of a command. Fails for an unknown one, and for a value that it cannot have.
    pub fn set(&mut self, command: Command, name: &str, value: Value) -> Result<(), Error> {
        let option = options_of(command).find(|option| option.name == name).ok_or_else(|| {
            let known: Vec<_> = options_of(command).map(|option| option.name).collect();
            Error::Usage(format!("no option {name}: there are {}", known.join(", ")))
        })?;
        option.check(&value).map_err(Error::Usage)?;
        (option.set)(self, value);
        Ok(())
    }
}

impl Opt {
    /// Refuses a value of another type or beyond the bounds.
    fn check(&self, value: &Value) -> Result<(), String> {
        let name = self.name;
        match (self.kind, value) {
            (Kind::Duration, Value::Number(1..=MOST_NS)) | (Kind::Flag, Value::Flag(_)) => Ok(()),
            (Kind::Duration, Value::Number(_)) => {
                Err(format!("{name} must be from 1 ns to 292 years"))
            }
            (Kind::Count(least) | Kind::Bytes(least), &Value::Number(number)) => {
                let fits = number >= least;
                fits.then_some(()).ok_or(format!("{name} must be at least {least}, not {number}"))
            }
            (Kind::Factor, &Value::Factor(number)) => {
                let fits = number > 0.0;
                fits.then_some(()).ok_or(format!("{name} must be above 0, not {number}"))
            }
            (Kind::Text(_) | Kind::Path(_), Value::Text(_)) => Ok(()),
            (Kind::Choice(known), Value::Text(text)) => {
                let fits = known.contains(&text.as_str());
                let message = format!("no {name} '{text}': there is {}", known.join(", "));
                fits.then_some(()).ok_or(message)
            }
            (kind, _) => Err(format!("{name} takes a {}", kind.name())),
        }
    }
}

/// The options of a command, in the order of help.
pub fn options_of(command: Command) -> impl Iterator<Item = &'static Opt> {
    OPTIONS.iter().filter(move |option| option.commands.contains(&command))
}

/// A duration of the registry as a time of the core.
fn nanos(ns: u64) -> Nanos {
    Nanos(ns.min(MOST_NS) as i64)
}

const MOST_NS: u64 = i64::MAX as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_structures() {
        let plain = Settings {
            analysis: Options::default(),
            source: Source::default(),
            capture: Capture::default(),
            simulation: Request::new(PathBuf::new()),
            tap: None,
        };
        let analyze = Settings::of(Command::Analyze);
        assert_eq!(format!("{analyze:?}"), format!("{plain:?}"));
        let mut monitor = Settings::of(Command::Monitor);
        assert_eq!(monitor.analysis.max_flows, 2_000_000, "a link must not take all memory");
        monitor.analysis.max_flows = plain.analysis.max_flows;
        assert_eq!(format!("{monitor:?}"), format!("{plain:?}"));
    }

    #[test]
    fn every_option_takes_a_value_of_its_kind_and_no_other() {
        for command in Command::ALL {
            for option in options_of(command) {
                let mut settings = Settings::of(command);
                let (right, wrong) = match option.kind {
                    Kind::Flag => (Value::Flag(true), Value::Number(1)),
                    Kind::Factor => (Value::Factor(1.5), Value::Factor(0.0)),
                    Kind::Choice(known) => {
                        (Value::Text(known[0].to_owned()), Value::Text("nonsense".to_owned()))
                    }
                    Kind::Text(_) | Kind::Path(_) => {
                        (Value::Text("17".to_owned()), Value::Flag(true))
                    }
                    Kind::Count(0) => (Value::Number(0), Value::Flag(true)),
                    Kind::Duration => (Value::Number(1), Value::Number(0)),
                    Kind::Count(least) | Kind::Bytes(least) => {
                        (Value::Number(least), Value::Number(least - 1))
                    }
                };
                assert!(settings.set(command, option.name, right).is_ok(), "{}", option.name);
                assert!(settings.set(command, option.name, wrong).is_err(), "{}", option.name);
            }
        }
    }

    #[test]
    fn names_are_told_apart_and_help_is_a_sentence() {
        for command in Command::ALL {
            let mut names: Vec<_> = options_of(command).map(|option| option.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
            assert!(options_of(command).all(|option| option.help.ends_with('.')));
        }
        let unknown =
            Settings::of(Command::Monitor).set(Command::Monitor, "pace", Value::Factor(1.0));
        assert!(unknown.unwrap_err().to_string().contains("no option pace: there are filter,"));
    }
}
