//! Classic BPF (McCanne and Jacobson 1993): what a capture filter is compiled to. Programs are
//! verified once and then run without a check that can fail: they only jump forward, so they end.

use std::fmt;

/// One instruction, laid out as in `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Operation.
    pub code: u16,
    /// Instructions to pass over when a condition holds.
    pub jt: u8,
    /// Instructions to pass over when it does not.
    pub jf: u8,
    /// Operand.
    pub k: u32,
}

/// A verified program.
#[derive(Clone, Debug)]
pub struct Program(Vec<Instruction>);

/// Why a program is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// No instruction, or more than [`MAX_INSTRUCTIONS`].
    Length,
    /// The instruction at this index does not exist, or jumps or stores out of bounds.
    Instruction(usize),
    /// The last instruction does not return.
    NoReturn,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Invalid::Length => {
                write!(f, "a filter program has 1 to {MAX_INSTRUCTIONS} instructions")
            }
            Invalid::Instruction(at) => write!(f, "instruction {at} of the filter is not valid"),
            Invalid::NoReturn => f.write_str("the filter program does not return"),
        }
    }
}

/// Instructions that a program may have. The kernel takes 4,096; filters on files may be longer.
pub(crate) const MAX_INSTRUCTIONS: usize = 65_536;

impl Program {
    /// Verifies a program.
    pub fn new(instructions: Vec<Instruction>) -> Result<Program, Invalid> {
        if !(1..=MAX_INSTRUCTIONS).contains(&instructions.len()) {
            return Err(Invalid::Length);
        }
        for (at, instruction) in instructions.iter().enumerate() {
            if !is_valid(instruction, instructions.len() - at - 1) {
                return Err(Invalid::Instruction(at));
            }
        }
        match instructions[instructions.len() - 1].code & CLASS {
            RET => Ok(Program(instructions)),
            _ => Err(Invalid::NoReturn),
        }
    }

    /// The instructions, for a kernel that takes them.
    pub fn instructions(&self) -> &[Instruction] {
        &self.0
    }

    /// Whether a packet of `wire_len` bytes passes, with `bytes` captured. A load beyond these
    /// rejects it.
    pub fn matches(&self, bytes: &[u8], wire_len: u32) -> bool {
        self.run(bytes, wire_len).unwrap_or(0) != 0
    }

    fn run(&self, bytes: &[u8], wire_len: u32) -> Option<u32> {
        let (mut a, mut x, mut memory) = (0u32, 0u32, [0u32; MEMORY_WORDS]);
        let mut rest = self.0.as_slice();
        while let [instruction, after @ ..] = rest {
            rest = after;
            let k = instruction.k;
            let source = if instruction.code & SOURCE_X != 0 { x } else { k };
            match instruction.code & CLASS {
                LD => a = load(instruction, bytes, wire_len, x, &memory)?,
                LDX if instruction.code & MODE == MSH => {
                    x = u32::from(bytes.get(k as usize)? & 0x0f) * 4;
                }
                LDX => x = load(instruction, bytes, wire_len, x, &memory)?,
                ST => *memory.get_mut(k as usize)? = a,
                STX => *memory.get_mut(k as usize)? = x,
                ALU => a = compute(instruction.code & OPERATION, a, source)?,
                JMP => {
                    let passed = jump(instruction, a, source);
                    rest = rest.get(passed as usize..)?;
                }
                RET if instruction.code & RET_A != 0 => return Some(a),
                RET => return Some(k),
                _ if instruction.code & TXA != 0 => a = x,
                _ => x = a,
            }
        }
        None
    }
}

fn load(
    instruction: &Instruction,
    bytes: &[u8],
    wire_len: u32,
    x: u32,
    memory: &[u32; MEMORY_WORDS],
) -> Option<u32> {
    let at = match instruction.code & MODE {
        IMM => return Some(instruction.k),
        MEM => return memory.get(instruction.k as usize).copied(),
        LEN => return Some(wire_len),
        IND => x.checked_add(instruction.k)?,
        _ => instruction.k,
    };
    let bytes = bytes.get(at as usize..)?;
    match instruction.code & SIZE {
        WORD => bytes.first_chunk().map(|word| u32::from_be_bytes(*word)),
        HALF => bytes.first_chunk().map(|half| u32::from(u16::from_be_bytes(*half))),
        _ => bytes.first().map(|&byte| u32::from(byte)),
    }
}

fn compute(operation: u16, a: u32, operand: u32) -> Option<u32> {
    Some(match operation {
        0x00 => a.wrapping_add(operand),
        0x10 => a.wrapping_sub(operand),
        0x20 => a.wrapping_mul(operand),
        0x30 => a.checked_div(operand)?,
        0x40 => a | operand,
        0x50 => a & operand,
        // A shift by more than the width gives 0, as in libpcap.
        0x60 => a.checked_shl(operand).unwrap_or(0),
        0x70 => a.checked_shr(operand).unwrap_or(0),
        0x80 => a.wrapping_neg(),
        0x90 => a.checked_rem(operand)?,
        _ => a ^ operand,
    })
}

/// How many instructions to pass over.
fn jump(instruction: &Instruction, a: u32, operand: u32) -> u32 {
    let holds = match instruction.code & OPERATION {
        JA => return instruction.k,
        0x10 => a == operand,
        0x20 => a > operand,
        0x30 => a >= operand,
        _ => a & operand != 0,
    };
    u32::from(if holds { instruction.jt } else { instruction.jf })
}

/// Whether an instruction exists and stays in bounds, with `after` instructions behind it.
fn is_valid(instruction: &Instruction, after: usize) -> bool {
    let &Instruction { code, jt, jf, k } = instruction;
    let (mode, size, operation) = (code & MODE, code & SIZE, code & OPERATION);
    let in_memory = (k as usize) < MEMORY_WORDS;
    if code > 0xff {
        return false;
    }
    match code & CLASS {
        LD => match mode {
            IMM | LEN => size == WORD,
            MEM => size == WORD && in_memory,
            ABS | IND => matches!(size, WORD | HALF | BYTE),
            _ => false,
        },
        LDX => match mode {
            IMM | LEN => size == WORD,
            MEM => size == WORD && in_memory,
            MSH => size == BYTE,
            _ => false,
        },
        ST | STX => code & !CLASS == 0 && in_memory,
        ALU => match operation {
            0x30 | 0x90 => code & SOURCE_X != 0 || k != 0,
            0x00..=0x80 | 0xa0 => true,
            _ => false,
        },
        JMP => match operation {
            JA => (k as usize) < after,
            0x10 | 0x20 | 0x30 | 0x40 => usize::from(jt.max(jf)) < after,
            _ => false,
        },
        RET => matches!(code & !CLASS, 0x00 | RET_A),
        _ => matches!(code & !CLASS, 0x00 | TXA),
    }
}

/// Words of scratch memory.
const MEMORY_WORDS: usize = 16;

// The fields of an operation code (bpf.h of every system since 4.3BSD).
const CLASS: u16 = 0x07;
const LD: u16 = 0x00;
const LDX: u16 = 0x01;
const ST: u16 = 0x02;
const STX: u16 = 0x03;
const ALU: u16 = 0x04;
const JMP: u16 = 0x05;
const RET: u16 = 0x06;
const SIZE: u16 = 0x18;
const WORD: u16 = 0x00;
const HALF: u16 = 0x08;
const BYTE: u16 = 0x10;
const MODE: u16 = 0xe0;
const IMM: u16 = 0x00;
const ABS: u16 = 0x20;
const IND: u16 = 0x40;
const MEM: u16 = 0x60;
const LEN: u16 = 0x80;
const MSH: u16 = 0xa0;
const OPERATION: u16 = 0xf0;
const JA: u16 = 0x00;
const SOURCE_X: u16 = 0x08;
const RET_A: u16 = 0x10;
const TXA: u16 = 0x80;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::forge;
    use proptest::prelude::*;

    fn program(code: &[(u16, u8, u8, u32)]) -> Result<Program, Invalid> {
        let instruction = |&(code, jt, jf, k)| Instruction { code, jt, jf, k };
        Program::new(code.iter().map(instruction).collect())
    }

    /// `tcpdump -d 'tcp dst port 80'` on raw IPv4, as libpcap 1.10 compiles it.
    #[test]
    fn runs_what_libpcap_compiles() {
        let filter = program(&[
            (0x30, 0, 0, 9),
            (0x15, 0, 6, 6),
            (0x28, 0, 0, 6),
            (0x45, 4, 0, 0x1fff),
            (0xb1, 0, 0, 0),
            (0x48, 0, 0, 2),
            (0x15, 0, 1, 80),
            (0x06, 0, 0, 262_144),
            (0x06, 0, 0, 0),
        ])
        .unwrap();
        let mut packet = forge::ipv4(6, &forge::tcp(&[], 0));
        assert!(filter.matches(&packet, 40));
        assert!(!filter.matches(&packet[..22], 40), "cut before the port");
        packet[23] = 81;
        assert!(!filter.matches(&packet, 40));
    }

    #[test]
    fn invalid_programs_are_refused() {
        assert_eq!(program(&[]).unwrap_err(), Invalid::Length);
        assert_eq!(program(&[(0x04, 0, 0, 1)]).unwrap_err(), Invalid::NoReturn);
        let jump = program(&[(0x15, 0, 1, 0), (0x06, 0, 0, 0)]);
        assert_eq!(jump.unwrap_err(), Invalid::Instruction(0));
        let divide = program(&[(0x34, 0, 0, 0), (0x06, 0, 0, 0)]);
        assert_eq!(divide.unwrap_err(), Invalid::Instruction(0));
        let store = program(&[(0x02, 0, 0, 16), (0x06, 0, 0, 0)]);
        assert_eq!(store.unwrap_err(), Invalid::Instruction(0));
    }

    proptest! {
        #[test]
        fn any_program_is_refused_or_ends(
            code in prop::collection::vec(
                (0u16..0x100, 0u8..4, 0u8..4, prop_oneof![0u32..20, any::<u32>()]),
                1..20,
            ),
            bytes in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut code = code;
            code.push((0x16, 0, 0, 0));
            if let Ok(program) = program(&code) {
                program.matches(&bytes, 40);
            }
        }
    }
}
