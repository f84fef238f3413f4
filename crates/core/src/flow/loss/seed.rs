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

    /// Counts segments with sequence numbers from `first` up to `last`, so many bytes in all, if
    /// these are all above those before, or none is. Whether it did.
    pub fn run(&mut self, first: Seq, last: Seq, bytes: u64) -> bool {
        let above = self.highest.is_none_or(|highest| first.0 > highest);
        if above && last.0 > first.0 {
            (self.highest, self.new_bytes) = (Some(last.0), self.new_bytes + bytes);
        } else if !above && last == first {
            self.again_bytes += bytes;
        } else {
            return false;
        }
        true
    }

    /// The prototype's retransmission score: bytes again over new bytes since the begin.
    pub fn retransmission_score(&self) -> Option<f64> {
        (self.new_bytes > 0).then(|| self.again_bytes as f64 / self.new_bytes as f64)
    }
}
