//! The capture in the middle of the path: what passes between two links, at the virtual time at
//! which it does.

use tcpwhy_core::units::Nanos;
use tcpwhy_sim::scenario::Scenario;
use tcpwhy_sim::tap::Manner;
use tcpwhy_sim::tap::frame::pcap_header;

/// A pcap file that grows in memory until it is taken.
pub struct Middle {
    /// The link that frames leave on their way forward, and the one that they enter on their way
    /// back: the two directions of one link.
    at: [usize; 2],
    /// Where time 0 lies in the capture.
    epoch: Nanos,
    bytes: Vec<u8>,
    frames: u64,
}

impl Middle {
    /// In front of the last link of the first flow; `None` when that has no other link.
    pub fn of(scenario: &Scenario, epoch: Nanos) -> Option<Middle> {
        let path = &scenario.flows.first()?.path;
        let before = path.len().checked_sub(2).map(|i| path[i].get_ref())?;
        let number = scenario.links.keys().position(|name| name == before)?;
        let bytes = pcap_header(&Manner { snaplen: SNAPLEN as u32, ..Manner::default() });
        Some(Middle { at: [2 * number, 2 * number + 1], epoch, bytes, frames: 0 })
    }

    /// The same capture going on, with its time 0 at `epoch`.
    pub fn since(&mut self, epoch: Nanos) -> Middle {
        Middle { epoch, bytes: self.take(), ..*self }
    }

    /// A frame moves from one link to the next.
    pub fn pass(&mut self, now: Nanos, links: [usize; 2], frame: &[u8]) {
        if links[0] != self.at[0] && links[1] != self.at[1] {
            return;
        }
        self.frames += 1;
        let kept = &frame[..frame.len().min(SNAPLEN)];
        let ts = (self.epoch + now).0;
        let words = [ts / 1_000_000_000, ts % 1_000_000_000, kept.len() as i64, frame.len() as i64];
        self.bytes.extend(words.iter().flat_map(|word| (*word as u32).to_le_bytes()));
        self.bytes.extend_from_slice(kept);
    }

    /// The bytes since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// How many bytes wait to be taken.
    pub fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// Frames so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }
}

/// All headers with all options, as `tcpdump -s 128` keeps them.
const SNAPLEN: usize = 128;
