//! The refined diagnosis: from facts to one cause, with what speaks for it.
//!
//! Whose time it was decides first ([`crate::flow::clock`]): the application's, the receiver's, or
//! the network's. What the network's time was spent on is told apart by queueing, losses and the
//! shape of the flight ([`network`]).

pub mod cause;
pub mod facts;
mod application;
mod network;
mod receiver;
pub mod threshold;

pub use cause::{Cause, Confidence};
pub use facts::{Context, Facts};

use crate::flow::losses::Shape;
use crate::flow::policer::Policer;

/// A stretch of a half to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its facts.
    pub facts: Facts,
    /// What is known of the half.
    pub context: Context,
    /// The policer that the losses of the half show.
    pub policer: Option<Policer>,
    /// How losses without a queue lie.
    pub losses: Option<Shape>,
    /// What the stretch before was found to be limited by.
    pub before: Option<Cause>,
}

/// The answer for a stretch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// What limited it.
    pub cause: Cause,
    /// How sure that is.
    pub confidence: Confidence,
    /// Shares of the time.
    pub shares: Shares,
}

/// Shares of the time of a stretch, which sum to one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// The application had nothing to send.
    pub application: f64,
    /// The receiver's window held the sender back.
    pub receiver_window: f64,
    /// The network or congestion control did.
    pub network: f64,
    /// Losses were repaired.
    pub recovery: f64,
}

/// What limited the stretch. `None` when it shows nothing at all.
pub fn diagnose(case: &Case) -> Option<Finding> {
    let facts = &case.facts;
    if facts.span_s <= 0.0 {
        return None;
    }
    let idle = facts.idle + facts.dry;
    let paced = application::is_paced(case);
    let application = idle + if paced { facts.unused } else { 0.0 };
    let shares = Shares {
        application,
        receiver_window: facts.receiver,
        network: facts.network + if paced { 0.0 } else { facts.unused },
        recovery: facts.recovery,
    };
    let network = shares.network + shares.recovery;
    let (cause, confidence) = if application >= facts.receiver && application >= network {
        application::cause(case)
    } else if facts.receiver >= network {
        receiver::cause(case)
    } else {
        network::cause(case)
    };
    Some(Finding { cause, confidence, shares })
}
