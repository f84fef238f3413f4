//! What the fuzz targets do with their input. `crates/core/tests/fuzz_corpus.rs` replays the corpus
//! through the same functions.

use tcpwhy_core::pipeline::{Options, Pipeline, Table};
use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::bpf::{Instruction, Program};
use tcpwhy_core::wire::capture::{Parser, Record};
use tcpwhy_core::wire::linktype::LINKTYPES;
use tcpwhy_core::wire::{Decoder, Frame};

/// A frame: the first byte chooses the link type, the next two the length on the wire.
pub fn decode(data: &[u8]) {
    let [choice, high, low, bytes @ ..] = data else { return };
    let linktype = LINKTYPES[usize::from(*choice) % LINKTYPES.len()].id;
    let wire_len = u32::from(u16::from_be_bytes([*high, *low]));
    let frame = Frame { number: 1, ts: Nanos(0), linktype, wire_len, bytes };
    if let Ok(segment) = Decoder::new().decode(&frame) {
        assert!(segment.sack_count <= 4);
        assert!(segment.wire_len >= segment.ip_len);
        assert!(segment.key.low <= segment.key.high);
    }
}

/// A capture file, read as a whole and in pieces, which must give the same frames; then analysed.
pub fn capture(data: &[u8]) {
    let mut decoder = Decoder::new();
    let mut segments = Vec::new();
    let mut frames = 0;
    let whole = read(data, data.len(), |record| {
        frames += 1;
        let &Record { ts, linktype, wire_len, bytes } = record;
        segments.extend(decoder.decode(&Frame { number: frames, ts, linktype, wire_len, bytes }));
    });
    assert_eq!(whole, read(data, 11, |_| {}));
    let options = Options { tables: Table::ALL.to_vec(), ..Options::default() };
    let mut pipeline = Pipeline::new(options);
    pipeline.push(&segments);
    pipeline.finish();
    pipeline.take(true);
}

/// Reads a file that arrives in pieces; gives the number of frames and a sum over them.
fn read(file: &[u8], piece: usize, mut each: impl FnMut(&Record)) -> (u64, u64) {
    let (mut count, mut sum) = (0u64, 0u64);
    let (mut parser, mut taken, mut have) = (None, 0, 0);
    loop {
        let mut input = &file[taken..have];
        let known = parser.is_some();
        let result = match &mut parser {
            None => match Parser::open(&mut input) {
                Ok(opened) => {
                    parser = opened;
                    Ok(None)
                }
                Err(_) => return (count, sum),
            },
            Some(parser) => parser.next(&mut input),
        };
        let moved = input.len() < have - taken || known != parser.is_some();
        taken = have - input.len();
        match result {
            Err(_) => return (count, sum),
            Ok(Some(record)) => {
                count += 1;
                let bytes = record.bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
                sum = sum.wrapping_mul(31).wrapping_add(bytes ^ record.ts.0 as u64);
                each(&record);
            }
            Ok(None) if moved => {}
            Ok(None) if have < file.len() => have = file.len().min(have + piece.max(1)),
            Ok(None) => return (count, sum),
        }
    }
}

/// A filter program of eight bytes per instruction, run on what follows 16 of them.
pub fn filter(data: &[u8]) {
    let (code, packet) = data.split_at(data.len().min(128));
    let instruction = |b: &[u8]| Instruction {
        code: u16::from_le_bytes([b[0], b[1]]),
        jt: b[2],
        jf: b[3],
        k: u32::from_le_bytes([b[4], b[5], b[6], b[7]]),
    };
    if let Ok(program) = Program::new(code.chunks_exact(8).map(instruction).collect()) {
        program.matches(packet, packet.len() as u32 + 1);
    }
}
