//! What to change, where, and to which value.

use super::headroom::Headroom;
use super::words::{bytes, rate, time};
use super::{Case, Cause};
use crate::model::window::Window;
use crate::record::Text;
use std::fmt::Display;

/// A direction from `src` to `dst` that is to be advised.
pub struct Advised<'a> {
    /// What is known of it.
    pub case: &'a Case,
    /// What limits it.
    pub cause: Cause,
    /// What it would gain, where that is known.
    pub headroom: Option<Headroom>,
    /// Its sender.
    pub src: &'a dyn Display,
    /// Its receiver.
    pub dst: &'a dyn Display,
}

impl Advised<'_> {
    /// What to change, sized for the gain.
    pub fn remedy(&self) -> Text {
        self.cause.limitation().remedy(self)
    }
}

/// The window that the predicted rate needs, and the buffer for it: the kernel counts twice the
/// bytes of a window. Without a prediction the arithmetic for a rate to be chosen.
pub fn window(advised: &Advised) -> String {
    let Advised { case, headroom, .. } = advised;
    let Some(rtt) = case.context.rtt_min else { return "to twice rate × RTT".to_owned() };
    let bps = headroom.map_or(EXAMPLE_BPS, |headroom| headroom.bps);
    let need = Window::bytes_for(bps, rtt.0 as f64);
    let (buffer, rtt, bps, need) =
        (bytes(need * KERNEL_OVERHEAD), time(rtt), rate(bps), bytes(need));
    match headroom {
        Some(_) => format!(
            "to at least {buffer}: {rtt} × {bps} takes a window of {need}, and the kernel keeps \
             twice as much for it"
        ),
        None => format!("to twice the rate that it is to reach × {rtt}: {buffer} for {bps}"),
    }
}

/// What a buffer holds beside payload (`tcp_adv_win_scale` = 1, Linux before 6.6; it measures it
/// since, with the same result for full segments).
const KERNEL_OVERHEAD: f64 = 2.0;
/// A rate to show the arithmetic with.
const EXAMPLE_BPS: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Context, Facts};
    use std::net::IpAddr;

    fn advised(cause: Cause, facts: Facts, sack_agreed: Option<bool>) -> String {
        let context = Context { mss_bytes: 1448, sack_agreed, ..Context::default() };
        let case = Case { facts, context, ..Case::default() };
        let (src, dst) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        Advised { case: &case, cause, headroom: None, src: &src, dst: &dst }.remedy().to_string()
    }

    #[test]
    fn four_packets_do_not_tell_what_a_policer_lets_through() {
        let few = Facts { packets: 4, unique_bytes: 5_470, span_s: 337e-6, ..Facts::default() };
        let text = advised(Cause::Policer, few, None);
        assert!(!text.contains("bit/s"), "{text}");
        let many = Facts { packets: 2_000, unique_bytes: 2_896_000, span_s: 9.0, ..few };
        let text = advised(Cause::Policer, many, None);
        assert!(text.contains("(2.57 Mbit/s get through)"), "{text}");
    }

    #[test]
    fn sack_is_not_advised_to_those_who_agreed_on_it() {
        let facts = Facts { genuine: 1.0, loss_ratio: 0.18, ..Facts::default() };
        let text = advised(Cause::Recovery, facts, Some(true));
        assert!(text.starts_with("find what loses 18 % of the bytes"), "{text}");
        assert!(!text.contains("SACK"), "{text}");
        let late = advised(Cause::Recovery, Facts { loss_ratio: 0.0, ..facts }, Some(true));
        assert!(late.starts_with("RACK-TLP"), "nothing was lost: {late}");
        assert!(advised(Cause::Recovery, facts, Some(false)).contains("tcp_sack = 1"));
        assert!(advised(Cause::Recovery, facts, None).contains("tcp_sack = 1"));
    }

    #[test]
    fn a_reader_without_a_rate_and_a_short_pause_have_whole_sentences() {
        let text = advised(Cause::ReceiverSlowReader, Facts::default(), None);
        assert!(
            text.starts_with("let the application on 192.0.2.2 read: what it leaves"),
            "{text}"
        );
        let idle = advised(Cause::ApplicationIdle, Facts::default(), None);
        assert!(idle.starts_with("nothing in the network") && idle.ends_with(')'), "{idle}");
    }
}
