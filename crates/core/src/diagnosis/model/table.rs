//! Reads the file of weights: text up to an empty line, then numbers, little-endian.

use super::{ByAnswer, ByOutput, OUTPUTS};

/// What is left to be read of a file of weights.
pub struct Table<'a> {
    rest: &'a [u8],
    /// What a step of the leaves of this tree is worth, in those of the forest.
    step: i16,
}

impl<'a> Table<'a> {
    /// From its begin.
    pub fn new(bytes: &'a [u8]) -> Table<'a> {
        Table { rest: bytes, step: 1 }
    }

    /// The text at its head.
    pub fn text(&mut self) -> String {
        let end = self.rest.windows(2).position(|two| two == b"\n\n").expect("a head");
        let (head, rest) = self.rest.split_at(end);
        self.rest = &rest[2..];
        String::from_utf8(head.to_vec()).expect("UTF-8")
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.rest.split_first_chunk().expect("a whole file of weights");
        self.rest = rest;
        *first
    }

    /// A byte.
    pub fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    /// Two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    /// Begins a tree.
    pub fn tree(&mut self) {
        self.step = i16::from(self.u8());
    }

    /// What a leaf of this tree says for each output, in steps of the forest.
    pub fn leaf(&mut self) -> ByOutput<i16> {
        self.take::<OUTPUTS>().map(|steps| i16::from(steps as i8) * self.step)
    }

    /// A number.
    pub fn f32(&mut self) -> f32 {
        f32::from_le_bytes(self.take())
    }

    /// One number for each answer.
    pub fn by_answer(&mut self) -> ByAnswer {
        std::array::from_fn(|_| self.f32())
    }

    /// As many as a count says that comes first.
    pub fn many<T>(&mut self, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.u16()).map(|_| one(self)).collect()
    }
}
