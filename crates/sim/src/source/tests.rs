//! Workloads and readers against a socket whose network is one line.

use super::reader::Readers;
use super::*;

/// A socket with a send buffer. What is written arrives when the test says so.
#[derive(Default)]
struct Wire {
    send_buffer_bytes: u64,
    buffered: u64,
    writes: Vec<(i64, u64)>,
    readable: u64,
    reads: Vec<(i64, u64)>,
    closed_ms: Option<i64>,
    peer_closed: bool,
}

fn ms(now: Nanos) -> i64 {
    now.0 / 1_000_000
}

impl Socket for Wire {
    fn write(&mut self, now: Nanos, bytes: u64) -> u64 {
        let taken = bytes.min(self.writable());
        self.buffered += taken;
        if taken > 0 {
            self.writes.push((ms(now), taken));
        }
        taken
    }
    fn writable(&self) -> u64 {
        self.send_buffer_bytes - self.buffered
    }
    fn unacknowledged(&self) -> u64 {
        self.buffered
    }
    fn close(&mut self, now: Nanos) {
        assert!(self.closed_ms.is_none(), "closed twice");
        self.closed_ms = Some(ms(now));
    }
    fn readable(&self) -> u64 {
        self.readable
    }
    fn read(&mut self, now: Nanos, bytes: u64) -> u64 {
        let taken = bytes.min(self.readable);
        self.readable -= taken;
        self.reads.push((ms(now), taken));
        taken
    }
    fn is_established(&self) -> bool {
        true
    }
    fn is_peer_closed(&self) -> bool {
        self.peer_closed
    }
}

fn wire() -> Wire {
    Wire { send_buffer_bytes: 1 << 62, ..Wire::default() }
}

fn programs(toml: &str) -> Programs {
    let workload: Workloads = toml::from_str(toml).unwrap_or_else(|error| panic!("{error}"));
    workload.build(Nanos::from_millis(100), Random::stream(1, 0))
}

/// Lets the program act whenever it wants to until `end_ms`; `each` runs before.
fn run(program: &mut dyn Application, wire: &mut Wire, end_ms: i64, each: impl Fn(&mut Wire)) {
    let mut now = Nanos(0);
    loop {
        each(wire);
        program.act(now, wire);
        match program.next().filter(|next| *next > now) {
            Some(next) if ms(next) <= end_ms => now = next,
            _ => return,
        }
    }
}

#[test]
fn every_example_of_the_registry_builds_and_writes() {
    // What a relay writes is another connection's.
    for entry in Workloads::ENTRIES.iter().filter(|entry| entry.name != "relay") {
        for settings in entry.examples {
            let toml = if settings.contains("[[list]]") {
                settings.replace("[[list]]", &format!("[[{}.list]]", entry.name))
            } else {
                format!("[{}]\n{settings}", entry.name)
            };
            let mut wire = wire();
            run(&mut *programs(&toml).sender, &mut wire, 3000, |_| {});
            assert!(!wire.writes.is_empty(), "{toml}");
            assert!(wire.writes[0].0 >= 100, "it wrote before its start:\n{toml}");
        }
    }
}

#[test]
fn paced_writes_keep_their_rate_and_catch_up_after_a_full_buffer() {
    let mut program = programs("[paced]\nrate_bps = 800_000\nwrite_bytes = 10_000").sender;
    let mut free = wire();
    run(&mut *program, &mut free, 1000, |_| {});
    let expected: Vec<(i64, u64)> = (0..10).map(|i| (100 + 100 * i, 10_000)).collect();
    assert_eq!(free.writes, expected);
    // A buffer that takes 15,000 bytes and is emptied by 5000 bytes before each tick.
    let mut program = programs("[paced]\nrate_bps = 800_000\nwrite_bytes = 10_000").sender;
    let mut narrow = Wire { send_buffer_bytes: 15_000, ..Wire::default() };
    run(&mut *program, &mut narrow, 500, |wire| wire.buffered = wire.buffered.saturating_sub(5000));
    assert_eq!(
        narrow.writes,
        [(100, 10_000), (200, 10_000), (300, 5000), (400, 5000), (500, 5000)]
    );
}

#[test]
fn a_fixed_size_is_written_as_the_buffer_takes_it_and_then_closed() {
    let mut program = programs("[fixed_size]\nbytes = 25_000").sender;
    let mut wire = Wire { send_buffer_bytes: 10_000, ..Wire::default() };
    for now in [100, 200, 300, 400] {
        program.act(Nanos::from_millis(now), &mut wire);
        wire.buffered = 0;
    }
    assert_eq!(wire.writes, [(100, 10_000), (200, 10_000), (300, 5000)]);
    assert_eq!(wire.closed_ms, Some(300));
}

#[test]
fn requests_wait_for_answers_and_answers_for_requests() {
    let settings = "[request_response]\nrequest_bytes = 100\nresponse_bytes = 1000\n\
                    serve_ms = 5\nthink_ms = 20\ncount = 2";
    let Programs { mut sender, receiver } = programs(settings);
    let mut receiver = receiver.expect("it has two programs");
    let (mut here, mut there) = (wire(), wire());
    for now in 100..200 {
        let now = Nanos::from_millis(now);
        sender.act(now, &mut here);
        there.readable += std::mem::take(&mut here.buffered);
        there.peer_closed = here.closed_ms.is_some();
        receiver.act(now, &mut there);
        here.readable += std::mem::take(&mut there.buffered);
    }
    // Asked at 100, answered 5 ms later, read in the next ms, thought for 20 ms.
    assert_eq!(here.writes, [(100, 100), (126, 100)]);
    assert_eq!(there.writes, [(105, 1000), (131, 1000)]);
    // Closed with the last answer.
    assert_eq!((here.closed_ms, there.closed_ms), (Some(132), Some(132)));
}

#[test]
fn phases_follow_each_other() {
    let settings = "[[phases.list]]\nfor_s = 0.2\nworkload.paced.rate_bps = 1_600_000\n\n\
                    [[phases.list]]\nfor_s = 1\n\
                    workload.chunks = { chunk_bytes = 5, interval_ms = 90 }";
    let mut wire = wire();
    run(&mut *programs(settings).sender, &mut wire, 500, |_| {});
    assert_eq!(wire.writes, [(100, 20_000), (200, 20_000), (300, 5), (390, 5), (480, 5)]);
}

fn reads(reader: &str, arrive: impl Fn(&mut Wire)) -> Vec<(i64, u64)> {
    let reader: Readers = toml::from_str(reader).unwrap();
    let mut wire = wire();
    let mut program = reader.build();
    for now in 0..100 {
        arrive(&mut wire);
        program.act(Nanos::from_millis(now * 10), &mut wire);
    }
    wire.reads
}

#[test]
fn a_slow_reader_reads_at_its_rate_however_much_there_is() {
    let much = reads("[slow]\nrate_bps = 80_000\nread_bytes = 1000", |wire| wire.readable = 99_999);
    assert!(much.len() == 9 && much.iter().all(|(_, bytes)| *bytes == 1000), "{much:?}");
    assert_eq!(much[0].0, 100);
}

#[test]
fn a_pausing_reader_leaves_everything_during_its_pauses() {
    let reads = reads("[pausing]\npauses_s = [[0.1, 0.3], [0.5, 0.6]]", |wire| wire.readable += 1);
    let paused = |at: i64| (100..300).contains(&at) || (500..600).contains(&at);
    assert!(reads.iter().all(|(at, _)| !paused(*at)));
    let after: Vec<_> = reads.iter().filter(|(_, bytes)| *bytes > 1).collect();
    assert_eq!(after, [&(300, 21), &(600, 11)]);
}

#[test]
fn a_bulk_transfer_ends_its_writes_where_it_says() {
    let mut program = programs("[bulk]\nwrite_bytes = 8000").sender;
    let mut wire = Wire { send_buffer_bytes: 20_000, ..Wire::default() };
    for now in [100, 200] {
        program.act(Nanos::from_millis(now), &mut wire);
        wire.buffered = 0;
    }
    let rest_first = [(100, 8000), (100, 8000), (100, 4000), (200, 4000), (200, 8000), (200, 8000)];
    assert_eq!(wire.writes, rest_first);
}

#[test]
fn no_more_is_on_its_way_than_the_other_side_allows() {
    let settings = "window_bytes = 10_000\nupdate_bytes = 4_000\nmessage_bytes = 10";
    let Programs { mut sender, receiver } = programs(&format!("[flow_control]\n{settings}"));
    let mut receiver = receiver.expect("it answers");
    let at = Nanos::from_millis;
    let (mut near, mut far) = (wire(), wire());
    sender.act(at(0), &mut near);
    assert!(near.writes.is_empty() && sender.next() == Some(at(100)));
    sender.act(at(100), &mut near);
    far.readable = 9_000;
    receiver.act(at(110), &mut far);
    for (now, arrived) in [(115, 15), (116, 5)] {
        near.readable = arrived;
        sender.act(at(now), &mut near);
    }
    assert_eq!(far.writes, [(110, 20)], "two messages; 1,000 bytes are left");
    assert_eq!(near.writes, [(100, 10_000), (115, 4_000), (116, 4_000)]);
    far.readable = 3_000;
    receiver.act(at(120), &mut far);
    assert_eq!(far.writes.last(), Some(&(120, 10)));
}
