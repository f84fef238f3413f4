//! The samples of one estimate, in little room: three bytes each.

use super::Sample;
use crate::flow::rounded::Rounded;

/// Samples in order. Their memory is never moved, and stays when they are cleared: all flows would
/// leave holes at other times.
#[derive(Debug, Default)]
pub struct Samples {
    #[expect(clippy::vec_box, reason = "chunks stay where they are when there are more")]
    chunks: Vec<Box<Chunk>>,
    len: usize,
    /// Size of the newest one, if that has a number, and what is kept of it.
    newest: Option<u32>,
    number: u8,
    /// The first sizes that differ, in bytes: most streams have a few.
    sizes: Vec<u32>,
    /// All other sizes, one for each sample that has none of those.
    others: Vec<u32>,
}

/// Some samples, and what they say of their sizes: a number in `sizes`, or [`OTHER`].
#[derive(Debug)]
struct Chunk {
    gaps: [Rounded; CHUNK],
    sizes: [u8; CHUNK],
}

impl Samples {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds a packet of so many bytes.
    #[inline(always)]
    pub fn push(&mut self, bytes: u32, gap_ns: f32) {
        if self.newest != Some(bytes) {
            self.turn_to(bytes);
        }
        let at = self.len % CHUNK;
        if self.len == self.chunks.len() * CHUNK {
            self.grow();
        }
        let chunk = &mut self.chunks[self.len / CHUNK];
        (chunk.gaps[at], chunk.sizes[at]) = (Rounded::of(gap_ns), self.number);
        self.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.chunks.push(Box::new(Chunk { gaps: [Rounded::default(); CHUNK], sizes: [0; CHUNK] }));
    }

    /// Finds the number of another size than the one before.
    #[inline(never)]
    fn turn_to(&mut self, bytes: u32) {
        let known = self.sizes.iter().position(|&known| known == bytes);
        if known.is_none() && self.sizes.len() == MOST_SIZES {
            self.others.push(bytes);
            (self.newest, self.number) = (None, OTHER);
            return;
        }
        if known.is_none() {
            self.sizes.push(bytes);
        }
        let at = known.unwrap_or(self.sizes.len() - 1);
        (self.newest, self.number) = (Some(bytes), at as u8);
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.len = 0;
        self.newest = None;
        self.sizes.clear();
        self.others.clear();
    }

    /// All of them, one after the other.
    pub fn unpack(&self) -> Vec<Sample> {
        let bits = |bytes: u32| bytes as f32 * 8.0;
        let mut sizes = [0.0; MOST_SIZES];
        sizes.iter_mut().zip(&self.sizes).for_each(|(size, &bytes)| *size = bits(bytes));
        let mut samples = Vec::with_capacity(self.chunks.len() * CHUNK);
        for chunk in self.chunks.iter().take(self.len.div_ceil(CHUNK)) {
            samples.extend(chunk.gaps.iter().zip(&chunk.sizes).map(|(gap, &size)| Sample {
                bits: sizes[usize::from(size) % MOST_SIZES],
                gap_ns: gap.number(),
            }));
        }
        samples.truncate(self.len);
        if !self.others.is_empty() {
            let numbers = self.chunks.iter().flat_map(|chunk| &chunk.sizes);
            let unnumbered = samples.iter_mut().zip(numbers).filter(|(_, size)| **size == OTHER);
            unnumbered
                .zip(&self.others)
                .for_each(|((sample, _), &other)| sample.bits = bits(other));
        }
        samples
    }
}

/// Samples for which room is made at a time.
const CHUNK: usize = 64;
/// Sizes that have a number. Few, since they are searched.
const MOST_SIZES: usize = 16;
/// The size is one of the others.
const OTHER: u8 = u8::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_out_as_they_went_in_however_many_sizes_there_are() {
        for sizes in [1, 3, 16, 17, 90] {
            let mut samples = Samples::default();
            let added: Vec<(u32, f32)> =
                (0..200).map(|n| (40 + n * 7 % sizes * 100_000, n as f32 * 1.5)).collect();
            added.iter().for_each(|&(bytes, gap_ns)| samples.push(bytes, gap_ns));
            let expected: Vec<Sample> = added
                .iter()
                .map(|&(bytes, gap_ns)| Sample {
                    bits: bytes as f32 * 8.0,
                    gap_ns: Rounded::of(gap_ns).number(),
                })
                .collect();
            assert_eq!((samples.len(), samples.unpack()), (200, expected), "{sizes} sizes");
            samples.clear();
            assert_eq!((samples.len(), samples.unpack()), (0, Vec::new()));
        }
    }
}
