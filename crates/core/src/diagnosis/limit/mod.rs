//! The limitations and the causes that refine them, declared once. Each limitation names its file
//! in this folder, which says of a span which cause it had, by which numbers, and what to change.
//!
//! Tables, simulator, texts, colours, filters and the measurement of accuracy all read them here;
//! Python does so through `tcpwhy.vocabulary`.

pub(super) mod application;
mod confidence;
pub(crate) mod owner;
mod policer;
mod random_loss;
pub(super) mod receiver_window;
mod sender_window;
mod shared_bottleneck;
mod transport;
mod unresponsive;
pub(super) mod unshared_bottleneck;

pub use confidence::Confidence;
pub use owner::Owner;

use super::remedy::Advised;
use super::sentence::Sentence;
use super::{Case, Finding};
use crate::record::Text;

/// Declares the limitations: the enum, its words, and what else is said of each.
macro_rules! limits {
    ($($(#[doc = $doc:literal])+ $variant:ident = $word:literal in $file:ident {
        plain: $plain:literal, next: $next:literal, owners: [$($owner:ident),*],
        light: $light:literal, dark: $dark:literal, block: $block:literal,
        paper: [$($paper:ident),+],
    })+) => {
        /// What limits a direction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Limitation { $($(#[doc = $doc])+ $variant,)+ }

        impl Limitation {
            /// Every limitation.
            pub const ALL: &'static [Limitation] = &[$(Limitation::$variant,)+];
            /// Their words, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// The word in the tables.
            pub const fn name(self) -> &'static str {
                self.about().word
            }

            /// Its cause where it is the answer.
            pub(crate) fn cause(self, case: &Case) -> Cause {
                match self { $(Limitation::$variant => $file::cause(case),)+ }
            }

            /// Says the numbers behind a finding of it.
            pub(crate) fn evidence(self, case: &Case, finding: &Finding, say: &mut Sentence) {
                match self { $(Limitation::$variant => $file::evidence(case, finding, say),)+ }
            }

            /// What to change.
            pub(crate) fn remedy(self, advised: &Advised) -> Text {
                match self { $(Limitation::$variant => $file::remedy(advised).into(),)+ }
            }

            /// All that is said of it.
            pub const fn about(self) -> &'static AboutLimitation {
                match self { $(Limitation::$variant => &AboutLimitation {
                    word: $word,
                    doc: concat!($($doc),+),
                    plain: $plain,
                    next: $next,
                    owners: &[$(Owner::$owner),*],
                    colour_light: $light,
                    colour_dark: $dark,
                    block: $block,
                    paper: &[$(Limitation::$paper),+],
                },)+ }
            }
        }
    };
}

/// Declares the causes: the enum, its words, and what else is said of each.
macro_rules! causes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $word:literal of $limitation:ident {
        culprit: $culprit:literal, filter: $filter:expr,
    })+) => {
        /// A limitation refined: what to look for, and what to change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Cause { $($(#[doc = $doc])+ $variant,)+ }

        impl Cause {
            /// Every cause.
            pub const ALL: &'static [Cause] = &[$(Cause::$variant,)+];
            /// Their words, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// The word in the tables.
            pub const fn name(self) -> &'static str {
                self.about().word
            }

            /// What it refines.
            pub const fn limitation(self) -> Limitation {
                self.about().limitation
            }

            /// All that is said of it.
            pub const fn about(self) -> &'static AboutCause {
                match self { $(Cause::$variant => &AboutCause {
                    word: $word,
                    doc: concat!($($doc),+),
                    limitation: Limitation::$limitation,
                    culprit: $culprit,
                    filter: $filter,
                },)+ }
            }
        }
    };
}

/// What is said of a limitation.
#[derive(Debug)]
pub struct AboutLimitation {
    /// The word in the tables.
    pub word: &'static str,
    /// What it means, in a sentence.
    pub doc: &'static str,
    /// Its name in a sentence.
    pub plain: &'static str,
    /// Its name where it will limit next.
    pub next: &'static str,
    /// The owners of the time that it accounts for.
    pub owners: &'static [Owner],
    /// Its colour on white. All are distinct to people with any colour vision (Paul Tol's muted
    /// scheme).
    pub colour_light: &'static str,
    /// Its colour on black: much the same hues, light enough to be seen there.
    pub colour_dark: &'static str,
    /// How it looks in a bar of characters, with and without colour.
    pub block: char,
    /// The answers of the paper's tree that are right where this is true. The tree has no word for
    /// some: it calls what is the sender's doing `transport`, and a policer a bottleneck.
    pub paper: &'static [Limitation],
}

/// What is said of a cause.
#[derive(Debug)]
pub struct AboutCause {
    /// The word in the tables: that of its limitation, and its own after a slash.
    pub word: &'static str,
    /// What it means, in a sentence.
    pub doc: &'static str,
    /// What it refines.
    pub limitation: Limitation,
    /// What follows "Limited by".
    pub culprit: &'static str,
    /// The display filter of Wireshark for the packets that show it, where there is one.
    pub filter: Option<&'static str>,
}

limits! {
    /// The application had nothing, or not enough, to send.
    Application = "application" in application {
        plain: "the application", next: "the application", owners: [Application],
        light: "#88ccee", dark: "#9ce6e7", block: '░',
        paper: [Application],
    }
    /// The window that the receiver advertises is full.
    ReceiverWindow = "receiver_window" in receiver_window {
        plain: "the receiver's window", next: "the receiver's window", owners: [ReceiverWindow],
        light: "#ddcc77", dark: "#fdd46d", block: '▒',
        paper: [ReceiverWindow],
    }
    /// A window of the sending host itself is full: its send buffer, or a clamp on cwnd.
    SenderWindow = "sender_window" in sender_window {
        plain: "the sender's own window", next: "the sender's own window",
        owners: [Network, Recovery],
        light: "#999933", dark: "#c17114", block: '▚',
        paper: [Transport],
    }
    /// The connection fills a link that it has to itself.
    UnsharedBottleneck = "unshared_bottleneck" in unshared_bottleneck {
        plain: "a full link, not shared", next: "the capacity of the link",
        owners: [Network, Recovery],
        light: "#332288", dark: "#7354ff", block: '█',
        paper: [UnsharedBottleneck],
    }
    /// The connection shares a full link with others.
    SharedBottleneck = "shared_bottleneck" in shared_bottleneck {
        plain: "a shared link", next: "a shared link", owners: [Network, Recovery],
        light: "#44aa99", dark: "#24d2bd", block: '▓',
        paper: [SharedBottleneck],
    }
    /// A token bucket drops what exceeds its rate.
    Policer = "policer" in policer {
        plain: "a policer", next: "a policer", owners: [Network, Recovery],
        light: "#882255", dark: "#b34aa1", block: '▛',
        paper: [UnsharedBottleneck, SharedBottleneck],
    }
    /// Packets are lost without congestion.
    RandomLoss = "random_loss" in random_loss {
        plain: "random loss", next: "the rate of losses", owners: [Network, Recovery],
        light: "#cc6677", dark: "#ff99b1", block: '▞',
        paper: [Transport],
    }
    /// TCP itself: slow start, the growth of its window, the time that recovery takes.
    Transport = "transport" in transport {
        plain: "TCP itself", next: "TCP itself", owners: [Network, Recovery],
        light: "#117733", dark: "#24c879", block: '▄',
        paper: [Transport],
    }
    /// The peer or the path is gone: segments are repeated and nothing answers.
    Unresponsive = "unresponsive" in unresponsive {
        plain: "a peer or path that does not answer", next: "a peer or path that does not answer",
        owners: [Network, Recovery],
        light: "#aa4499", dark: "#a890d8", block: '▗',
        paper: [Transport],
    }
    /// Several limits, none of them ahead.
    Mixed = "mixed" in transport {
        plain: "several together", next: "several together", owners: [],
        light: "#bbbbbb", dark: "#8c8c8c", block: '▖',
        paper: [Mixed],
    }
}

const RESENT: &str = "tcp.analysis.retransmission || tcp.analysis.fast_retransmission";
const WINDOW: &str = "tcp.analysis.window_full || tcp.analysis.zero_window";
const QUEUED: &str = "tcp.analysis.ack_rtt > {rtt_s:.6f}";

causes! {
    /// The application had nothing to send.
    ApplicationIdle = "application/idle" of Application {
        culprit: "the application on {src}: it had nothing to send",
        filter: Some("tcp.len > 0 && tcp.time_delta > {rtt_s:.6f}"),
    }
    /// The application, or pacing on its behalf, spread what it sent.
    ApplicationPaced = "application/paced" of Application {
        culprit: "the application on {src}, or pacing on its behalf",
        filter: None,
    }
    /// The application waited for its peer's program, whose protocol allows no more on its way.
    ApplicationFlowControl = "application/flow_control" of Application {
        culprit: "the application on {src}: it waits until the one on {dst} allows more",
        filter: None,
    }
    /// The application wrote less than a segment at a time.
    ApplicationSmallWrites = "application/small_writes" of Application {
        culprit: "the application on {src}: it writes less than a segment at a time",
        filter: Some("tcp.len > 0 && tcp.len < {mss}"),
    }
    /// The receive buffer, as advertised, is smaller than the path.
    ReceiverBuffer = "receiver_window/buffer" of ReceiverWindow {
        culprit: "the receive window of {dst}: it is too small for this path",
        filter: Some(WINDOW),
    }
    /// The receiving application reads more slowly than the path delivers.
    ReceiverSlowReader = "receiver_window/slow_reader" of ReceiverWindow {
        culprit: "the application on {dst}: it reads too slowly",
        filter: Some(
            "tcp.analysis.window_full || tcp.analysis.zero_window || tcp.analysis.window_update",
        ),
    }
    /// The window cannot exceed 65,535 bytes.
    ReceiverNoScaling = "receiver_window/no_window_scaling" of ReceiverWindow {
        culprit: "the receive window of {dst}: window scaling is off",
        filter: Some(
            "tcp.flags.syn == 1 || tcp.analysis.window_full || tcp.analysis.zero_window",
        ),
    }
    /// The send buffer holds no more.
    SenderBuffer = "sender_window/send_buffer" of SenderWindow {
        culprit: "the send buffer of {src}: it is too small for this path",
        filter: Some("tcp.len > 0 && tcp.flags.push == 1"),
    }
    /// The congestion window is held at a fixed size.
    SenderClamp = "sender_window/cwnd_clamp" of SenderWindow {
        culprit: "a clamp on the congestion window of {src}",
        filter: None,
    }
    /// Either of the two.
    SenderUndetermined = "sender_window/undetermined" of SenderWindow {
        culprit: "a window of {src} itself, send buffer or clamped cwnd",
        filter: None,
    }
    /// Alone at a full link, with a queue.
    UnsharedQueue = "unshared_bottleneck/queue" of UnsharedBottleneck {
        culprit: "a full link without cross traffic",
        filter: Some(QUEUED),
    }
    /// Alone at a full link with hardly a queue, so that losses show it.
    UnsharedLoss = "unshared_bottleneck/loss" of UnsharedBottleneck {
        culprit: "a full link with a short queue and without cross traffic",
        filter: Some(RESENT),
    }
    /// Alone at a full link whose rate varies as that of Wi-Fi does.
    UnsharedWifi = "unshared_bottleneck/wifi" of UnsharedBottleneck {
        culprit: "a full link that sends in bursts with random waits, as Wi-Fi does",
        filter: Some(QUEUED),
    }
    /// Alone at a full link whose rate varies as that of a mobile network does.
    UnsharedCellular = "unshared_bottleneck/cellular" of UnsharedBottleneck {
        culprit: "a full link whose rate goes up and down, as that of a mobile network does",
        filter: Some(QUEUED),
    }
    /// Alone at a full link whose own rate varies; whether as Wi-Fi or as a mobile network is open.
    UnsharedVarying = "unshared_bottleneck/varying" of UnsharedBottleneck {
        culprit: "a full link whose own rate varies, without cross traffic",
        filter: Some(QUEUED),
    }
    /// A full link shared with others, with losses.
    SharedLoss = "shared_bottleneck/loss" of SharedBottleneck {
        culprit: "a full link, shared with cross traffic",
        filter: Some(RESENT),
    }
    /// A full link shared with others, with a queue.
    SharedQueue = "shared_bottleneck/queue" of SharedBottleneck {
        culprit: "a full link, shared with cross traffic",
        filter: Some(QUEUED),
    }
    /// A full link shared with others, which marks.
    SharedEcn = "shared_bottleneck/ecn" of SharedBottleneck {
        culprit: "a full link, shared with cross traffic, that marks instead of dropping",
        filter: Some("ip.dsfield.ecn == 3 || tcp.flags.ece == 1"),
    }
    /// A token bucket drops what exceeds its rate.
    Policer = "policer" of Policer {
        culprit: "a policer: it drops what exceeds its rate",
        filter: Some(RESENT),
    }
    /// Packets are lost without congestion.
    RandomLoss = "random_loss" of RandomLoss {
        culprit: "random (non-congestion) loss",
        filter: Some(RESENT),
    }
    /// Slow start had not ended.
    SlowStart = "transport/slow_start" of Transport {
        culprit: "slow start: it had not ended",
        filter: None,
    }
    /// Congestion avoidance grows the window and nothing else holds it.
    CongestionAvoidance = "transport/congestion_avoidance" of Transport {
        culprit: "the slow growth of its window in congestion avoidance",
        filter: None,
    }
    /// Losses are being repaired, or timers waited for.
    Recovery = "transport/recovery" of Transport {
        culprit: "the time that TCP took to recover from losses",
        filter: Some(RESENT),
    }
    /// Nothing answers any more, whatever is sent.
    UnresponsivePeer = "unresponsive/peer" of Unresponsive {
        culprit: "the silence of {dst}, or of the path to it",
        filter: Some(RESENT),
    }
    /// Full-size segments vanish and smaller ones arrive: a black hole of path MTU discovery.
    UnresponsivePathMtu = "unresponsive/path_mtu" of Unresponsive {
        culprit: "a path to {dst} on which full-size segments vanish",
        filter: Some("tcp.len >= {mss}"),
    }
}

impl Limitation {
    /// Whether it is what the network's time was spent on.
    pub(crate) fn is_of_network(self) -> bool {
        !matches!(self, Limitation::Application | Limitation::ReceiverWindow)
    }

    /// Whether a link is full.
    pub(crate) fn is_bottleneck(self) -> bool {
        matches!(self, Limitation::UnsharedBottleneck | Limitation::SharedBottleneck)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_word_of_a_cause_begins_with_that_of_its_limitation() {
        for cause in Cause::ALL {
            let (name, limitation) = (cause.name(), cause.limitation().name());
            assert_eq!(name.split('/').next(), Some(limitation), "{cause:?}");
        }
    }

    #[test]
    fn a_cause_is_one_of_its_limitation() {
        for &answer in Limitation::ALL.iter().filter(|answer| **answer != Limitation::Mixed) {
            assert_eq!(answer.cause(&Case::default()).limitation(), answer);
        }
    }

    #[test]
    fn no_two_limitations_look_alike() {
        let about = || Limitation::ALL.iter().map(|limitation| limitation.about());
        let all = Limitation::ALL.len();
        assert_eq!(about().map(|about| about.word).collect::<HashSet<_>>().len(), all);
        assert_eq!(about().map(|about| about.colour_light).collect::<HashSet<_>>().len(), all);
        assert_eq!(about().map(|about| about.colour_dark).collect::<HashSet<_>>().len(), all);
        assert_eq!(about().map(|about| about.block).collect::<HashSet<_>>().len(), all);
    }

    #[test]
    fn the_tree_of_the_paper_is_judged_by_words_that_it_has() {
        for limitation in Limitation::ALL {
            for answer in limitation.about().paper {
                assert_eq!(answer.about().paper.first(), Some(answer), "{limitation:?}");
            }
        }
    }
}
