//! The published prototype's count of retransmissions (IM 2021), for comparison.

use crate::units::Seq;

/// Bytes of segments whose sequence number is above all before it, and of the others: any segments,
/// acknowledgements too, in 32 bits without wrap.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeedCount {
    highest: Option<u32>,
    again_bytes: u64,
    new_bytes: u64,
}

impl SeedCount {
    /// Counts a segment of so many bytes on the wire.
    #[inline]
    pub fn segment(&mut self, seq: Seq, bytes: u64) {
        match self.highest {
            Some(highest) if highest >= seq.0 => self.again_bytes += bytes,
            _ => {
                self.highest = Some(seq.0);
                self.new_bytes += bytes;
            }
        }
    }

    /// The prototype's retransmission score: bytes again over new bytes since the begin.
    pub fn retransmission_score(&self) -> Option<f64> {
        (self.new_bytes > 0).then(|| self.again_bytes as f64 / self.new_bytes as f64)
    }
}
