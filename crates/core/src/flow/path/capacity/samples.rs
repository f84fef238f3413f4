//! The samples of one estimate, in little room: two bytes each, and one where the size changes.

use super::Sample;
use crate::flow::rounded::Rounded;

/// Samples in order. Their memory is never moved, since all flows would leave holes at other times.
/// It is given back when they are cleared: most of a long flow's are passed over.
#[derive(Debug, Default)]
pub struct Samples {
    #[expect(clippy::vec_box, reason = "chunks stay where they are when there are more")]
    chunks: Vec<Box<Chunk>>,
    len: usize,
    /// They are counted, not kept.
    passed_over: bool,
    /// Size of the newest one, if that has a number.
    newest: Option<u32>,
    /// What each turn to another size turns to: a number in `sizes`, or [`OTHER`].
    turned_to: Vec<u8>,
    /// The first sizes that differ, in bytes: most streams have a few.
    sizes: Vec<u32>,
    /// All other sizes, one for each sample that has none of those.
    others: Vec<u32>,
}

/// Some samples. Most have the size of the one before; a bit tells which do not.
#[derive(Debug)]
struct Chunk {
    gaps: [Rounded; CHUNK],
    turns: u64,
}

const _: () = assert!(CHUNK <= u64::BITS as usize, "a bit for each sample");

impl Samples {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds a packet of so many bytes.
    #[inline(always)]
    pub fn push(&mut self, bytes: u32, gap_ns: f32) {
        if self.passed_over {
            self.len += 1;
            return;
        }
        let turns = self.newest != Some(bytes);
        if turns {
            self.turn_to(bytes);
        }
        let at = self.len % CHUNK;
        if self.len == self.chunks.len() * CHUNK {
            self.grow();
        }
        let chunk = &mut self.chunks[self.len / CHUNK];
        chunk.gaps[at] = Rounded::of(gap_ns);
        chunk.turns |= u64::from(turns) << at;
        self.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.chunks.push(Box::new(Chunk { gaps: [Rounded::default(); CHUNK], turns: 0 }));
    }

    /// Finds the number of another size than the one before.
    #[inline(never)]
    fn turn_to(&mut self, bytes: u32) {
        let known = self.sizes.iter().position(|&known| known == bytes);
        if known.is_none() && self.sizes.len() == MOST_SIZES {
            self.others.push(bytes);
            self.turned_to.push(OTHER);
            self.newest = None;
            return;
        }
        if known.is_none() {
            self.sizes.push(bytes);
        }
        self.turned_to.push(known.unwrap_or(self.sizes.len() - 1) as u8);
        self.newest = Some(bytes);
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        *self = Samples::default();
    }

    /// Only counts them from now on, until they are cleared: nobody will ask for them.
    pub fn pass_over(&mut self) {
        *self = Samples { len: self.len, passed_over: true, ..Samples::default() };
    }

    /// All of them, one after the other; none where they were passed over.
    pub fn unpack(&self) -> Vec<Sample> {
        let bits = |bytes: u32| bytes as f32 * 8.0;
        let (mut turned_to, mut others) = (self.turned_to.iter(), self.others.iter());
        let mut samples = Vec::with_capacity(self.chunks.len() * CHUNK);
        let mut size = 0.0;
        for chunk in &self.chunks {
            samples.extend(chunk.gaps.iter().enumerate().map(|(at, gap)| {
                if chunk.turns >> at & 1 == 1 {
                    size = match turned_to.next() {
                        Some(&OTHER) | None => others.next().map_or(0.0, |&other| bits(other)),
                        Some(&number) => bits(self.sizes[usize::from(number)]),
                    };
                }
                Sample { bits: size, gap_ns: gap.number() }
            }));
        }
        samples.truncate(self.len);
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
