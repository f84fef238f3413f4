use super::*;
use crate::wire::forge::join;
use proptest::prelude::*;

/// Every record of a file that arrives in pieces of `piece` bytes, as `seconds.nanoseconds
/// linktype wire_len captured`, and how it ended.
fn read(file: &[u8], piece: usize) -> (Vec<String>, String) {
    let mut records = Vec::new();
    let (mut parser, mut have, mut taken) = (None, 0, 0);
    loop {
        let mut input = &file[taken..have];
        let opened = parser.is_some();
        let result = match &mut parser {
            None => match Parser::open(&mut input) {
                Ok(opened) => {
                    parser = opened;
                    Ok(None)
                }
                Err(error) => return (records, error.to_string()),
            },
            Some(parser) => parser.next(&mut input).map(|record| {
                record.map(|r| {
                    let (s, ns) =
                        (r.ts.0.div_euclid(1_000_000_000), r.ts.0.rem_euclid(1_000_000_000));
                    format!("{s}.{ns:09} {} {} {}", r.linktype, r.wire_len, r.bytes.len())
                })
            }),
        };
        let moved = input.len() < have - taken || opened != parser.is_some();
        taken = have - input.len();
        match result {
            Err(damage) => return (records, damage.to_string()),
            Ok(Some(record)) => records.push(record),
            Ok(None) if moved => {}
            Ok(None) if have < file.len() => have = (have + piece).min(file.len()),
            Ok(None) => break,
        }
    }
    let end = match &parser {
        None => "no header".to_owned(),
        Some(parser) => {
            parser.finish(&file[taken..]).map_or_else(|e| e.to_string(), |()| "ok".into())
        }
    };
    (records, end)
}

fn words(big_endian: bool, values: &[u32]) -> Vec<u8> {
    let bytes = |value: &u32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    values.iter().flat_map(bytes).collect()
}

fn pcap(big_endian: bool, magic: u32, minor: u16, lengths: [u32; 2], extra: usize) -> Vec<u8> {
    let halves = |high: u16, low: u16| match big_endian {
        true => [high.to_be_bytes(), low.to_be_bytes()].concat(),
        false => [high.to_le_bytes(), low.to_le_bytes()].concat(),
    };
    let tail = words(big_endian, &[0, 0, 65535, 1]);
    let record = words(big_endian, &[1, 2, lengths[0], lengths[1]]);
    let head = join(&[&words(big_endian, &[magic]), &halves(2, minor), &tail]);
    join(&[&head, &record, &vec![0; extra + 4], &record, &vec![0; extra + 4]])
}

#[test]
fn pcap_in_all_variants() {
    let rows: &[(&str, Vec<u8>, &str)] = &[
        ("usual", pcap(false, 0xa1b2_c3d4, 4, [4, 60], 0), "1.000002000 1 60 4"),
        ("big endian", pcap(true, 0xa1b2_c3d4, 4, [4, 60], 0), "1.000002000 1 60 4"),
        ("nanoseconds", pcap(false, 0xa1b2_3c4d, 4, [4, 60], 0), "1.000000002 1 60 4"),
        ("modified", pcap(true, 0xa1b2_cd34, 4, [4, 60], 8), "1.000002000 1 60 4"),
        ("version 2.2", pcap(true, 0xa1b2_c3d4, 2, [60, 4], 0), "1.000002000 1 60 4"),
        ("version 2.3", pcap(false, 0xa1b2_c3d4, 3, [60, 4], 0), "1.000002000 1 60 4"),
    ];
    for (name, file, expected) in rows {
        assert_eq!(read(file, 7), (vec![(*expected).to_owned(); 2], "ok".to_owned()), "{name}");
    }
    let two = join(&[&rows[0].1, &rows[1].1]);
    assert_eq!(read(&two, 5).0.len(), 4, "cat a.pcap b.pcap");
}

fn block(big_endian: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let len = words(big_endian, &[body.len() as u32 + 12]);
    join(&[&words(big_endian, &[kind]), &len, body, &len])
}

fn pcapng(big_endian: bool, tsresol: u8, offset_s: u64, ticks: [u32; 2]) -> Vec<u8> {
    let half = |value: u16| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let long = if big_endian { offset_s.to_be_bytes() } else { offset_s.to_le_bytes() };
    let magic = words(big_endian, &[0x1a2b_3c4d]);
    let section = join(&[&magic, &half(1), &half(0), &[0xff; 8]]);
    let options = join(&[
        &half(9),
        &half(1),
        &[tsresol, 0, 0, 0],
        &half(14),
        &half(8),
        &long,
        &half(0),
        &half(0),
    ]);
    let interface = join(&[&half(113), &half(0), &words(big_endian, &[6]), &options]);
    let packet = words(big_endian, &[0, ticks[0], ticks[1], 4, 60, 0]);
    let old_packet =
        join(&[&half(0), &half(9), &words(big_endian, &[ticks[0], ticks[1], 4, 60, 0])]);
    let drops = join(&[&half(7), &half(8), &words(big_endian, &[0; 2]), &half(0), &half(0)]);
    join(&[
        &block(big_endian, 0x0a0d_0d0a, &section),
        &block(big_endian, 1, &interface),
        &block(big_endian, 6, &packet),
        &block(big_endian, 0xbad, &[0; 40]),
        &block(big_endian, 2, &old_packet),
        &block(big_endian, 3, &words(big_endian, &[60, 0, 0])),
        &block(big_endian, 5, &join(&[&words(big_endian, &[0, 0, 0]), &drops])),
    ])
}

#[test]
fn pcapng_in_all_variants() {
    let microseconds = [0, 1_000_002];
    let rows: &[(&str, Vec<u8>, &str)] = &[
        ("microseconds", pcapng(false, 6, 0, microseconds), "1.000002000"),
        ("big endian", pcapng(true, 6, 0, microseconds), "1.000002000"),
        ("nanoseconds", pcapng(false, 9, 0, [1, 0]), "4.294967296"),
        ("picoseconds", pcapng(true, 12, 0, [1000, 0]), "4.294967296"),
        ("binary", pcapng(false, 0x80 | 32, 0, [7, 1 << 31]), "7.500000000"),
        ("offset", pcapng(true, 6, 1_000_000, microseconds), "1000001.000002000"),
        ("seconds", pcapng(false, 0, u64::MAX, [0, 3]), "2.000000000"),
    ];
    for (name, file, time) in rows {
        let records = vec![
            format!("{time} 113 60 4"),
            format!("{time} 113 60 4"),
            // The simple packet block is cut at the snaplen of 6 and has the time before it.
            format!("{time} 113 60 6"),
        ];
        assert_eq!(read(file, 9), (records, "ok".to_owned()), "{name}");
    }
    let two = join(&[&rows[0].1, &rows[1].1]);
    assert_eq!(read(&two, 100).0.len(), 6, "two sections in different byte orders");
}

#[test]
fn a_file_tells_what_it_lost() {
    let drops = join(&[&[7, 0, 8, 0, 3], &[0; 7], &[5, 0, 8, 0, 4], &[0; 11]]);
    let statistics = block(false, 5, &join(&[&[0; 12], &drops]));
    let file = join(&[&pcapng(false, 6, 0, [0, 5]), &statistics, &statistics]);
    let mut input = file.as_slice();
    let mut parser = Parser::open(&mut input).unwrap().unwrap();
    while parser.next(&mut input).unwrap().is_some() {}
    assert_eq!((parser.kernel_drops(), parser.without_time()), (7, 1), "totals, not sums");
}

#[test]
fn damage_is_named_with_its_offset() {
    let file = pcap(false, 0xa1b2_c3d4, 4, [4, 60], 0);
    let cut = read(&file[..file.len() - 1], 64);
    let message =
        "damaged at byte 44: the file ends in the middle of a record: 19 bytes of it are there";
    assert_eq!((cut.0.len(), cut.1.as_str()), (1, message));
    let mut absurd = file.clone();
    absurd[55] = 0x7f;
    let message = "damaged at byte 44: a record claims 2130706436 captured bytes";
    assert_eq!(read(&absurd, 64).1, message);
    let mut ng = pcapng(false, 6, 0, [0, 0]);
    let last = ng.len() - 4;
    ng[last] += 4;
    let message = "damaged at byte 220: the two lengths of a block differ";
    assert_eq!(read(&ng, 64).1, message);
}

#[test]
fn other_files_are_recognised() {
    let advice = |head: &[u8]| read(head, 100).1;
    assert_eq!(
        advice(b"hello, world\n"),
        "text; give a pcap or pcapng file, as `tcpdump -w` writes it"
    );
    assert_eq!(
        advice(b"snoop\0\0\0\0\0\0\x02"),
        "a snoop capture; convert it with `editcap -F pcap IN OUT`"
    );
    assert_eq!(advice(b"abc"), "no header");
}

proptest! {
    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0usize..4) {
        let heads: [&[u8]; 4] = [
            &[],
            &[0xd4, 0xc3, 0xb2, 0xa1],
            &[0xa1, 0xb2, 0xcd, 0x34],
            &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0],
        ];
        read(&join(&[heads[kind], &bytes]), 17);
    }

    /// However a file is cut, what was read before is a prefix of the whole.
    #[test]
    fn a_cut_file_gives_a_prefix(ng in any::<bool>(), big in any::<bool>(), cut in 0usize..400) {
        let file = match ng {
            true => pcapng(big, 6, 0, [0, 5]),
            false => pcap(big, 0xa1b2_c3d4, 4, [4, 60], 0),
        };
        let whole = read(&file, 1000).0;
        let part = read(&file[..cut.min(file.len())], 13).0;
        prop_assert_eq!(&whole[..part.len()], &part[..]);
    }

    /// Damage inside a file neither panics nor makes records out of nothing.
    #[test]
    fn a_damaged_file_ends(ng in any::<bool>(), at in 0usize..300, value in any::<u8>()) {
        let mut file = match ng {
            true => pcapng(false, 6, 0, [0, 5]),
            false => pcap(true, 0xa1b2_c3d4, 4, [4, 60], 0),
        };
        if let Some(byte) = file.get_mut(at) {
            *byte = value;
        }
        prop_assert!(read(&file, 31).0.len() <= 12);
    }
}
