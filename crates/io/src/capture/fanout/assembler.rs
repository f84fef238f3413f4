//! Classic BPF written with names of places in place of distances.

use tcpwhy_core::wire::bpf::Instruction;

/// A line of a program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Line<Place> {
    /// An operation with its constant.
    Do(u16, u32),
    /// A jump to a place further on, if this comparison with a constant holds.
    If(u16, u32, Place),
    /// A jump to a place further on.
    Go(Place),
    /// A place.
    Here(Place),
}

/// The instructions of these lines. Every place named has to stand further on, and a comparison
/// reaches 255 instructions far; what is not so is a mistake in the program, and panics.
pub(super) fn assemble<Place: Copy + PartialEq>(lines: &[Line<Place>]) -> Vec<Instruction> {
    let distance = |from: usize, to: Place| {
        let mut between = 0;
        for line in &lines[from + 1..] {
            match line {
                Line::Here(place) if *place == to => return between,
                Line::Here(_) => {}
                _ => between += 1,
            }
        }
        panic!("a jump to a place that is not further on")
    };
    let instruction = |(at, line): (usize, &Line<Place>)| {
        let (code, k, jt) = match *line {
            Line::Do(code, k) => (code, k, 0),
            Line::If(code, k, to) => {
                (code, k, u8::try_from(distance(at, to)).expect("within reach"))
            }
            Line::Go(to) => (JA, distance(at, to), 0),
            Line::Here(_) => return None,
        };
        Some(Instruction { code, jt, jf: 0, k })
    };
    lines.iter().enumerate().filter_map(instruction).collect()
}

/// An unconditional jump, by its name in bpf(4).
const JA: u16 = 0x05;

#[cfg(test)]
mod tests {
    use super::Line::{Do, Go, Here, If};
    use super::*;

    #[test]
    fn places_become_distances() {
        let lines = [
            If(0x15, 7, 'b'),
            Do(0x06, 1),
            Go('c'),
            Here('b'),
            Do(0x06, 2),
            Here('c'),
            Do(0x06, 3),
        ];
        let program = assemble(&lines);
        let made = |code, jt, k| Instruction { code, jt, jf: 0, k };
        let wanted =
            [made(0x15, 2, 7), made(6, 0, 1), made(JA, 0, 1), made(6, 0, 2), made(6, 0, 3)];
        assert_eq!(program, wanted);
    }
}
