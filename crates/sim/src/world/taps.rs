//! Where captures are made, and what is wrong with one of them.

use super::draw::{Draw, short};
use super::path::{Path, link_name};

/// Captures at both hosts, in the middle of longer paths, and mostly one more with a flaw.
pub(super) struct Taps {
    middle: Option<String>,
    flawed: Option<Flawed>,
}

/// A capture with a flaw, at any place.
struct Flawed {
    place: String,
    manner: String,
    /// The share of the run that it misses at the begin.
    late: f64,
}

impl Taps {
    /// Draws them.
    pub fn draw(draw: &mut Draw, path: &Path) -> Taps {
        let behind = |draw: &mut Draw| {
            let link = draw.whole(0, path.len() as u64 - 2) as usize;
            format!("behind = \"{}\"", link_name(link))
        };
        let middle = (path.len() > 1).then(|| behind(draw));
        let flawed = draw.chance(0.7).then(|| {
            let place = match draw.whole(0, 2) {
                0 => "host = \"S\"".to_owned(),
                1 if path.len() > 1 => behind(draw),
                _ => "host = \"D\"".to_owned(),
            };
            let (manner, late) = match draw.pick(&FLAWS) {
                Flaw::Late => (String::new(), draw.between(0.05, 0.6)),
                Flaw::NoHandshake => ("without_handshake = true\n".to_owned(), 0.0),
                Flaw::Lossy => (format!("missed = {}\n", short(draw.log(1e-4, 0.03))), 0.0),
                Flaw::OneWay => {
                    let only = if draw.chance(0.5) { "forward" } else { "backward" };
                    (format!("only = \"{only}\"\n"), 0.0)
                }
                Flaw::Twice => {
                    let ms = short(draw.log(0.002, 0.5));
                    (format!("duplicate_after_ms = {ms}\n"), 0.0)
                }
                Flaw::Cut => (format!("snaplen = {}\n", draw.whole(54, 80)), 0.0),
            };
            Flawed { place, manner, late }
        });
        Taps { middle, flawed }
    }

    /// The taps as TOML.
    pub fn toml(&self, duration_s: f64) -> String {
        let mut text = String::new();
        let mut add = |name: &str, rest: &str| {
            text += &format!("[[taps]]\nname = \"{name}\"\n{rest}\n");
        };
        add("sender", "host = \"S\"\n");
        if let Some(place) = &self.middle {
            add("middle", &format!("{place}\n"));
        }
        add("receiver", "host = \"D\"\n");
        if let Some(Flawed { place, manner, late }) = &self.flawed {
            let from = match late {
                0.0 => String::new(),
                share => format!("from_s = {}\n", short(share * duration_s)),
            };
            add("flawed", &format!("{place}\n{manner}{from}"));
        }
        text
    }
}

/// What is wrong with a capture.
#[derive(Clone, Copy)]
enum Flaw {
    Late,
    NoHandshake,
    Lossy,
    OneWay,
    Twice,
    Cut,
}

const FLAWS: [(f64, Flaw); 6] = [
    (0.2, Flaw::Late),
    (0.2, Flaw::NoHandshake),
    (0.25, Flaw::Lossy),
    (0.15, Flaw::OneWay),
    (0.1, Flaw::Twice),
    (0.1, Flaw::Cut),
];
