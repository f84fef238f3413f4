//! Prints the TCP segments of captures, one a line, for comparison with other tools:
//! `segments FILE…`. Columns: frame, source port, destination port, sequence number,
//! acknowledgement number, payload bytes, flags, timestamp value, tunnel.

use std::io::Write;
use std::path::PathBuf;

use tcpwhy_core::wire::{Decoder, marks};
use tcpwhy_io::read_frames;

fn main() {
    let inputs: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut decoder = Decoder::new();
    let (_, errors) = read_frames(&inputs, |frame| {
        let line = match decoder.decode(frame) {
            Ok(segment) => {
                let (mut src, mut dst) = (segment.key.low, segment.key.high);
                if !segment.forward {
                    std::mem::swap(&mut src, &mut dst);
                }
                let timestamps = segment.marks & marks::TIMESTAMPS != 0;
                format!(
                    "{}\t{}\t{}\t{}\t{}\t{}\t{:#06x}\t{}\t{}",
                    frame.number,
                    src.port,
                    dst.port,
                    segment.seq.0,
                    segment.ack.0,
                    segment.payload_len,
                    segment.flags,
                    if timestamps { segment.tsval.to_string() } else { String::new() },
                    decoder.tunnels().name(segment.key.tunnel).unwrap_or_default(),
                )
            }
            Err(counter) => format!("{}\t{}", frame.number, counter.name()),
        };
        // A closed pipe ends the printing, not the reading; there is nothing to save.
        let _ = writeln!(out, "{line}");
    });
    for error in errors {
        eprintln!("{error}");
    }
}
