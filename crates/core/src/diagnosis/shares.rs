//! Whose time it was: by the clocks first, then again with the cause known.
//!
//! The clocks ([`crate::flow::time::clock`]) judge each wait by itself. Some waits look like
//! another owner's, by chance or since the observer is far away; what limited the interval as a
//! whole tells whose they were.

use super::limit::{application, receiver_window};
use super::{Case, Cause, Limitation, threshold};

/// Shares of the time of an interval, the first four of which sum to one.
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
    /// What the clocks gave to the application while something else limited: a part of the others.
    pub disputed: f64,
}

/// The waits that shares are made of, as parts of the time.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    idle: f64,
    dry: f64,
    unused: f64,
    receiver: f64,
    network: f64,
    recovery: f64,
    woken: f64,
}

/// Whose these waits were, if a cause limited the interval.
#[derive(Clone, Copy, Debug)]
pub struct Owners {
    blind: bool,
    paced: bool,
    moved: Moved,
    answer: Limitation,
    /// Whether time with nothing in flight is surely the program's.
    idle_is_sure: bool,
}

/// What the cause shows to be another's than its waits seemed to tell.
#[derive(Clone, Copy, Debug)]
enum Moved {
    Nothing,
    /// A queue that ran dry behind a full buffer waited for room in it.
    Dry,
    /// The network's waits were the receiver's.
    ToReceiver,
    /// The network's waits were the application's: all of them, or those that an acknowledgement
    /// ended.
    ToApplication,
    Woken,
}

impl Shares {
    /// Of an interval with this cause.
    pub fn of(case: &Case, cause: Cause) -> Shares {
        Owners::of(case, cause).shares(&Waits::of(case))
    }

    /// Adds `other`, weighted.
    pub fn add(&mut self, other: &Shares, weight: f64) {
        self.application += other.application * weight;
        self.receiver_window += other.receiver_window * weight;
        self.network += other.network * weight;
        self.recovery += other.recovery * weight;
        self.disputed += other.disputed * weight;
    }

    /// All of it times `factor`.
    pub fn scaled(&self, factor: f64) -> Shares {
        let mut scaled = Shares::default();
        scaled.add(self, factor);
        scaled
    }
}

impl Waits {
    /// Of an interval.
    pub fn of(case: &Case) -> Waits {
        let facts = &case.facts;
        Waits {
            idle: facts.idle,
            dry: facts.dry,
            unused: facts.unused,
            receiver: facts.receiver,
            network: facts.network,
            recovery: facts.recovery,
            woken: facts.woken,
        }
    }
}

impl Owners {
    /// Of an interval with this cause.
    pub fn of(case: &Case, cause: Cause) -> Owners {
        let answer = cause.limitation();
        let blind = application::is_blind(case, answer);
        let paced = !blind && application::is_paced(case, answer);
        // Nearer to the sender it is known what is in flight, and no queue holds a second.
        let near = case.context.position.is_some_and(|position| position < threshold::HALF_WAY);
        let silent = near || case.facts.silence_s >= threshold::LONGEST_QUEUE_S;
        let idle_is_sure = !blind && silent;
        let unmoved = Owners { blind, paced, moved: Moved::Nothing, answer, idle_is_sure };
        let shares = unmoved.by_clocks(&Waits::of(case));
        Owners { moved: Moved::of(case, cause, &shares), ..unmoved }
    }

    /// The shares of an interval with these waits.
    ///
    /// What limits an interval holds for most of it. Where clocks gave most of it to a program that
    /// is not what limits, they were deceived: by PSH on every segment, or by a queue that nothing
    /// shows. Then its waits are those of what limits, but for silence that is surely its own.
    pub fn shares(self, waits: &Waits) -> Shares {
        let mut shares = self.by_clocks(waits);
        if self.answer != Limitation::Application && shares.application >= threshold::MOSTLY {
            let own = if_so(self.idle_is_sure, waits.idle).min(shares.application);
            shares.disputed = shares.application - own;
            shares.application = own;
            match self.answer {
                Limitation::ReceiverWindow => shares.receiver_window += shares.disputed,
                _ => shares.network += shares.disputed,
            }
        }
        shares
    }

    fn by_clocks(self, waits: &Waits) -> Shares {
        let Owners { blind, paced, moved, .. } = self;
        let mut shares = Shares {
            application: if_so(!blind, waits.idle) + waits.dry + if_so(paced, waits.unused),
            receiver_window: waits.receiver,
            network: waits.network + if_so(blind, waits.idle) + if_so(!paced, waits.unused),
            recovery: waits.recovery,
            disputed: 0.0,
        };
        match moved {
            Moved::Nothing => {}
            Moved::Dry => {
                let waited = waits.dry.min(shares.application);
                shares.application -= waited;
                shares.network += waited;
            }
            Moved::ToReceiver => shares.receiver_window += std::mem::take(&mut shares.network),
            Moved::ToApplication => shares.application += std::mem::take(&mut shares.network),
            Moved::Woken => {
                let waited = waits.woken.min(shares.network);
                shares.network -= waited;
                shares.application += waited;
            }
        }
        shares
    }
}

impl Moved {
    /// In an interval with this cause, of which the waits make these shares.
    fn of(case: &Case, cause: Cause, shares: &Shares) -> Moved {
        let unseen = |share: f64| share < threshold::UNSEEN;
        match cause.limitation() {
            Limitation::Application => Moved::by_application(case, cause, shares),
            _ if cause == Cause::SenderBuffer => Moved::Dry,
            Limitation::ReceiverWindow
                if unseen(shares.receiver_window) || receiver_window::is_filled(case) =>
            {
                Moved::ToReceiver
            }
            _ => Moved::Nothing,
        }
    }

    fn by_application(case: &Case, cause: Cause, shares: &Shares) -> Moved {
        // What leaves at the sender's own pace waits for that, whatever comes in between; and of
        // a segment or two in flight none waits for a window.
        let clear = shares.application >= threshold::CLEAR_SHARE
            || case.facts.flight_segments <= threshold::TINY_FLIGHT;
        let paced = cause == Cause::ApplicationPaced
            && (case.context.own_pace || clear && application::is_always_paced(case));
        // What its peer allows is on its way: the time that takes is no wait for the path.
        let allowed = cause == Cause::ApplicationFlowControl;
        match paced || allowed || shares.application < threshold::UNSEEN {
            true => Moved::ToApplication,
            // Chance ends waits right after an acknowledgement now and then, as a send buffer does.
            false => Moved::Woken,
        }
    }
}

fn if_so(so: bool, share: f64) -> f64 {
    if so { share } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::{Context, Facts};
    use super::*;

    fn shares(cause: Cause, facts: Facts, own_pace: bool, position: f64) -> [f64; 3] {
        let context = Context { own_pace, position: Some(position), ..Context::default() };
        let facts = Facts { span_s: 3.0, rounds: 40, ..facts };
        let shares = Shares::of(&Case { facts, context, ..Case::default() }, cause);
        [shares.application, shares.receiver_window, shares.network]
            .map(|share| (share * 100.0).round() / 100.0)
    }

    #[test]
    fn waits_of_a_program_that_chance_ended_with_an_acknowledgement_are_its_own() {
        let facts = Facts {
            dry: 0.7,
            network: 0.3,
            woken: 0.25,
            flight_segments: 60.0,
            growing: 0.5,
            ..Facts::default()
        };
        assert_eq!(shares(Cause::ApplicationPaced, facts, false, 0.0), [0.95, 0.0, 0.05]);
    }

    #[test]
    fn a_queue_that_runs_dry_behind_a_full_buffer_is_not_the_programs_silence() {
        let facts = Facts {
            dry: 0.3,
            idle: 0.05,
            network: 0.65,
            flight_segments: 60.0,
            woken: 0.7,
            ..Facts::default()
        };
        assert_eq!(shares(Cause::SenderBuffer, facts, false, 0.0), [0.05, 0.0, 0.95]);
    }

    #[test]
    fn clocks_that_give_most_of_the_time_to_a_program_that_does_not_limit_were_deceived() {
        // Each write is a segment with PSH: the queue seems to run dry after each.
        let facts = Facts { dry: 0.8, network: 0.15, recovery: 0.05, ..Facts::default() };
        assert_eq!(shares(Cause::UnsharedQueue, facts, false, 0.0), [0.0, 0.0, 0.95]);
        assert_eq!(shares(Cause::ReceiverBuffer, facts, false, 0.0), [0.0, 0.95, 0.0]);
        assert_eq!(shares(Cause::ApplicationPaced, facts, false, 0.0), [0.95, 0.0, 0.0]);
        let case = Case { facts: Facts { span_s: 3.0, ..facts }, ..Case::default() };
        let disputed = |cause| Shares::of(&case, cause).disputed;
        assert_eq!([Cause::UnsharedQueue, Cause::ApplicationPaced].map(disputed), [0.8, 0.0]);
        // Silence is the program's where nothing can hide what is in flight.
        let silent = Facts { idle: 0.6, dry: 0.2, network: 0.2, ..Facts::default() };
        assert_eq!(shares(Cause::CongestionAvoidance, silent, false, 0.0), [0.6, 0.0, 0.4]);
        assert_eq!(shares(Cause::CongestionAvoidance, silent, false, 0.9), [0.0, 0.0, 1.0]);
        let long = Facts { silence_s: 1.2, ..silent };
        assert_eq!(shares(Cause::CongestionAvoidance, long, false, 0.9), [0.6, 0.0, 0.4]);
        let fewer = Facts { dry: 0.4, network: 0.6, ..Facts::default() };
        assert_eq!(shares(Cause::UnsharedQueue, fewer, false, 0.0), [0.4, 0.0, 0.6]);
    }

    #[test]
    fn what_leaves_at_the_senders_own_pace_waits_for_it() {
        let facts = Facts {
            idle: 0.3,
            network: 0.7,
            flight_segments: 60.0,
            growing: 0.2,
            ..Facts::default()
        };
        assert_eq!(shares(Cause::ApplicationPaced, facts, true, 0.0), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_program_that_always_leaves_room_waits_for_no_window() {
        let facts = Facts {
            unused: 0.8,
            network: 0.2,
            flight_segments: 60.0,
            growing: 0.4,
            ..Facts::default()
        };
        assert_eq!(shares(Cause::ApplicationPaced, facts, false, 0.0), [0.8, 0.0, 0.2], "it grows");
        let to_and_fro = Facts { shrinking: 0.3, ..facts };
        assert_eq!(shares(Cause::ApplicationPaced, to_and_fro, false, 0.0), [1.0, 0.0, 0.0]);
        let half = Facts { unused: 0.55, network: 0.45, ..to_and_fro };
        assert_eq!(shares(Cause::ApplicationPaced, half, false, 0.0), [0.55, 0.0, 0.45]);
        let tiny = Facts { flight_segments: 2.0, ..half };
        assert_eq!(shares(Cause::ApplicationPaced, tiny, false, 0.0), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_window_that_every_round_fills_is_what_all_waits_are_for() {
        let facts = Facts {
            receiver: 0.6,
            network: 0.4,
            flight_segments: 60.0,
            fullness: Some(0.99),
            flight_variation: Some(0.0),
            ..Facts::default()
        };
        assert_eq!(shares(Cause::ReceiverBuffer, facts, false, 1.0), [0.0, 1.0, 0.0]);
        assert_eq!(shares(Cause::ReceiverBuffer, facts, true, 1.0), [0.0, 0.6, 0.4], "BBR paces");
        let half = Facts { fullness: Some(0.6), ..facts };
        assert_eq!(shares(Cause::ReceiverBuffer, half, false, 1.0), [0.0, 0.6, 0.4]);
    }
}
