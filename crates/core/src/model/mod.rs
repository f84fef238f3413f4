//! Throughput models: what TCP should reach, given the path.
//!
//! A model is one file and one line below: a struct whose fields are its parameters, declared by
//! `model!` with formula, source and the conditions under which it holds. Parameters are numbers in
//! base units, as the end of their names says: `_ns`, `_bytes`, `_bps`, `_segs`; probabilities and
//! factors have none. The answer is a rate of payload in bit/s, or [`Outside`] with the reason.
//!
//! ```
//! use tcpwhy_core::model::{Predict, mathis::Mathis};
//! let reno = Mathis { rtt_ns: 100e6, loss: 1e-3, ..Mathis::default() };
//! assert_eq!(reno.rate_bps().unwrap().round(), 4_486_464.0);
//! ```

mod declare;
mod solve;

use std::fmt;

/// The models, in the order in which they are listed: each a module with a type.
macro_rules! registry {
    ($($module:ident :: $model:ident,)+) => {
        $(pub mod $module;)+
        /// Every model.
        pub const MODELS: &[Model] = &[$(<$module::$model as Declared>::MODEL),+];
    };
}

registry! {
    capacity::Capacity,
    window::Window,
    mathis::Mathis,
    pftk::Pftk,
    cubic::Cubic,
    bbr::Bbr,
    slow_start::SlowStart,
}

/// A model of the registry. Its parameters are numbers here, in the order of `parameters`; whoever
/// knows which model it is uses the struct in its file.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// The name in commands and in Python.
    pub name: &'static str,
    /// What it predicts.
    pub doc: &'static str,
    /// The formula, as a person writes it.
    pub formula: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What must hold for the prediction to be worth something.
    pub conditions: &'static [&'static str],
    /// What it needs to know.
    pub parameters: &'static [Parameter],
    predict: fn(&[f64]) -> Result<Prediction, Outside>,
}

/// A parameter of a model.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name, the unit last.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Which values it may have.
    pub domain: Domain,
    /// Its value when it is not given.
    pub fallback: Fallback,
    /// The words that it may be, for a parameter that is no number; it is the index of its word.
    pub choices: &'static [&'static str],
}

/// What is predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Payload in bit/s.
    pub rate_bps: f64,
    /// What the rate was computed from: names with units, and values.
    pub steps: Vec<(&'static str, f64)>,
    /// Why the rate is to be taken with care, although the formula gives one.
    pub caution: Option<&'static str>,
}

/// Which values a parameter may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Above 0.
    Positive,
    /// Above 0; infinite stands for no limit.
    Limit,
    /// 0 or more.
    NotNegative,
    /// Above 0 and below 1.
    Probability,
    /// From 0 to below 1.
    Share,
    /// One of several words.
    Choice,
}

/// The value of a parameter that is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fallback {
    /// There is none: it must be given.
    Required,
    /// This one.
    Value(f64),
    /// It follows from the others, as the text says; not a number stands for it.
    Derived(&'static str),
}

/// Parameters for which a model has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outside {
    /// The parameter.
    pub parameter: &'static str,
    /// What is wrong with it, to be read after its name.
    pub reason: &'static str,
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {}", self.parameter, self.reason)
    }
}

impl std::error::Error for Outside {}

/// What a model computes.
pub trait Predict: Declared {
    /// The rate in bit/s of payload, from parameters within their domains.
    fn compute(&self) -> Result<f64, Outside>;

    /// What the rate is computed from.
    fn steps(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Why the rate is to be taken with care, if so.
    fn caution(&self) -> Option<&'static str> {
        None
    }

    /// The rate in bit/s of payload, or why there is none.
    fn rate_bps(&self) -> Result<f64, Outside> {
        self.check()?;
        self.compute()
    }
}

/// What `model!` writes.
pub trait Declared: Copy + Default {
    /// The entry of the registry.
    const MODEL: Model;

    /// From numbers in the order of the parameters.
    fn from_values(values: &[f64]) -> Result<Self, Outside>;

    /// Whether all parameters are within their domains.
    fn check(&self) -> Result<(), Outside>;
}

/// A type of parameters.
pub trait Argument: Copy {
    /// The words that it may be, if it is no number.
    const CHOICES: &'static [&'static str] = &[];

    /// From a number, or from the index of a word.
    fn from_number(number: f64) -> Option<Self>;

    /// As a number.
    fn number(self) -> f64;
}

impl Argument for f64 {
    fn from_number(number: f64) -> Option<f64> {
        Some(number)
    }

    fn number(self) -> f64 {
        self
    }
}

impl Model {
    /// The model with this name.
    pub fn named(name: &str) -> Option<&'static Model> {
        MODELS.iter().find(|model| model.name == name)
    }

    /// The values of all parameters when none is given.
    pub fn defaults(&self) -> Vec<f64> {
        self.parameters.iter().map(|parameter| parameter.fallback.number()).collect()
    }

    /// The place of a parameter.
    pub fn position(&self, parameter: &str) -> Option<usize> {
        self.parameters.iter().position(|known| known.name == parameter)
    }

    /// The rate and how it comes about, for one value of each parameter in their order.
    pub fn predict(&self, values: &[f64]) -> Result<Prediction, Outside> {
        (self.predict)(values)
    }

    fn check(&self, values: &[f64]) -> Result<(), Outside> {
        for (parameter, &value) in self.parameters.iter().zip(values) {
            let derived = value.is_nan() && matches!(parameter.fallback, Fallback::Derived(_));
            if !derived {
                parameter.domain.check(parameter.name, value)?;
            }
        }
        Ok(())
    }
}

impl Domain {
    /// The values that are allowed, in words.
    pub fn describe(self) -> &'static str {
        match self {
            Domain::Positive => "above 0",
            Domain::Limit => "above 0, or infinite",
            Domain::NotNegative => "0 or more",
            Domain::Probability => "between 0 and 1",
            Domain::Share => "from 0 to below 1",
            Domain::Choice => "one of several words",
        }
    }

    fn check(self, parameter: &'static str, x: f64) -> Result<(), Outside> {
        let (within, reason) = match self {
            _ if x.is_nan() => (false, "is not known"),
            Domain::Positive => (x > 0.0 && x.is_finite(), "must be above 0"),
            Domain::Limit => (x > 0.0, "must be above 0"),
            Domain::NotNegative => (x >= 0.0 && x.is_finite(), "must be 0 or more"),
            Domain::Probability => (x > 0.0 && x < 1.0, "must lie between 0 and 1"),
            Domain::Share => ((0.0..1.0).contains(&x), "must lie from 0 to below 1"),
            Domain::Choice => (true, ""),
        };
        if within { Ok(()) } else { Err(Outside { parameter, reason }) }
    }
}

impl Fallback {
    /// As a number; not a number when there is none.
    pub fn number(self) -> f64 {
        match self {
            Fallback::Value(value) => value,
            Fallback::Required | Fallback::Derived(_) => f64::NAN,
        }
    }
}

fn predict<P: Predict>(values: &[f64]) -> Result<Prediction, Outside> {
    let model = P::from_values(values)?;
    let rate_bps = model.rate_bps()?;
    Ok(Prediction { rate_bps, steps: model.steps(), caution: model.caution() })
}

/// The next value as the type of `parameter`.
fn argument<A: Argument>(
    parameter: &'static str,
    values: &mut impl Iterator<Item = f64>,
) -> Result<A, Outside> {
    let number = values.next().unwrap_or(f64::NAN);
    A::from_number(number).ok_or(Outside { parameter, reason: "is not one of the choices" })
}

/// Segments a round trip as bit/s of payload.
fn window_rate_bps(window_segs: f64, mss_bytes: f64, rtt_ns: f64) -> f64 {
    window_segs * mss_bytes * 8e9 / rtt_ns
}

/// 1 - (1 - p)^n, exact for small p too.
fn any_of(n: f64, p: f64) -> f64 {
    -(n * (-p).ln_1p()).exp_m1()
}

/// The retransmission timeout of a Linux sender whose RTT varies little: RTT + 200 ms
/// (`TCP_RTO_MIN`).
fn usual_rto_ns(rto_ns: f64, rtt_ns: f64) -> f64 {
    if rto_ns.is_nan() { rtt_ns + 200e6 } else { rto_ns }
}

#[cfg(test)]
mod tests;
