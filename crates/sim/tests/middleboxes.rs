//! Fast Open, middleboxes and proxies in whole networks.

use std::path::Path;
use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::flags;
use tcpwhy_sim::endpoint::Endpoint;
use tcpwhy_sim::packet::{Cookie, TcpHeader};
use tcpwhy_sim::run::Simulation;
use tcpwhy_sim::scenario::Scenario;
use tcpwhy_sim::tap::Content;
use tcpwhy_sim::tcp::Connection;

/// A scenario of the repository, with some of its text replaced.
fn scenario(name: &str, changes: &[(&str, &str)]) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let mut text = std::fs::read_to_string(path).unwrap();
    for (what, by) in changes {
        assert!(text.contains(what), "{what} is not in {name}");
        text = text.replace(what, by);
    }
    Scenario::parse(name, &text).unwrap_or_else(|error| panic!("{error}"))
}

fn run(scenario: &Scenario) -> Simulation<Connection> {
    let mut built = scenario.build();
    built.simulation.run_until(built.duration);
    built.simulation
}

/// The segments of a flow that a tap saw: when, in which direction, what.
fn seen(world: &mut Simulation<Connection>, tap: usize) -> Vec<(Nanos, usize, TcpHeader)> {
    let one = |record: tcpwhy_sim::tap::Record| match record.content {
        Content::Tcp(header, _) => Some((record.ts, record.half, header)),
        Content::Udp(_) => None,
    };
    world.take_records(tap).into_iter().filter_map(one).collect()
}

fn syns(list: &[(Nanos, usize, TcpHeader)]) -> Vec<(usize, bool, u32, Option<Cookie>)> {
    let is_syn = |header: &TcpHeader| header.flags & flags::SYN != 0;
    let shown = |(_, half, header): &(Nanos, usize, TcpHeader)| {
        let is_answer = header.flags & flags::ACK != 0;
        (*half, is_answer, header.payload_bytes, header.fast_open)
    };
    list.iter().filter(|(_, _, header)| is_syn(header)).map(shown).collect()
}

/// When the last byte of a flow along its path was acknowledged, from its first packet on.
fn took(list: &[(Nanos, usize, TcpHeader)], flow: usize) -> Nanos {
    let begin = list.iter().find(|(_, half, _)| *half == 2 * flow).unwrap().0;
    let is_data = |(_, half, header): &&(Nanos, usize, TcpHeader)| {
        *half == 2 * flow && header.payload_bytes > 0
    };
    list.iter().rfind(is_data).unwrap().0 - begin
}

#[test]
fn fast_open_asks_once_and_then_saves_a_round_trip() {
    let mut world = run(&scenario("slow_start_fast_open.toml", &[]));
    let list = seen(&mut world, 0);
    let syns = syns(&list);
    let (_, _, _, answer) = syns[1];
    let Some(Cookie::Value(cookie)) = answer else { panic!("no cookie: {syns:?}") };
    let first = [(0, false, 0, Some(Cookie::Request)), (1, true, 0, answer)];
    let later = |half| [(half, false, 300, Some(Cookie::Value(cookie))), (half + 1, true, 0, None)];
    assert_eq!(syns, [first, later(2), later(4)].concat());
    let answered = |flow: usize| {
        let begin = list.iter().find(|(_, half, _)| *half == 2 * flow).unwrap().0;
        let is_answer = |(_, half, header): &&(Nanos, usize, TcpHeader)| {
            *half == 2 * flow + 1 && header.payload_bytes > 0
        };
        (list.iter().find(is_answer).unwrap().0 - begin).as_secs_f64()
    };
    for (flow, round_trips) in [(0, 2.0), (1, 1.0), (2, 1.0)] {
        assert_eq!(world.delivered_bytes(2 * flow + 1), 50_000);
        let time = answered(flow);
        assert!((0.1 * round_trips..0.1 * round_trips + 0.002).contains(&time), "{flow}: {time} s");
    }
}

#[test]
fn what_the_path_does_to_fast_open_costs_time_and_no_data() {
    // A SYN that is dropped, and an option that is taken out of what passes.
    for (does, syns_of_second, least, most) in
        [("drop_syn_data = true", 2, 1.2, 1.8), ("strip = [\"fast_open\"]", 1, 0.18, 0.32)]
    {
        let changes = [("drop_syn_data = true", does)];
        let mut world = run(&scenario("trap_fast_open_blocked.toml", &changes));
        let list = seen(&mut world, 0);
        let of_second = syns(&list).iter().filter(|syn| syn.0 == 2).count();
        assert_eq!(of_second, syns_of_second, "{does}");
        assert_eq!([0, 2].map(|half| world.delivered_bytes(half)), [50_000; 2], "{does}");
        let time = took(&list, 1).as_secs_f64();
        assert!((least..most).contains(&time), "{does}: {time} s");
    }
    // Stripped on the way back alone, no cookie arrives: each connection asks for one.
    let changes = [(
        "{ options.drop_syn_data = true },\n]",
        "]\nbackward = [{ delay.delay_ms = 1 }, { options.strip = [\"fast_open\"] }]",
    )];
    let mut world = run(&scenario("trap_fast_open_blocked.toml", &changes));
    let asked = syns(&seen(&mut world, 0));
    let requests = asked.iter().filter(|syn| syn.3 == Some(Cookie::Request)).count();
    assert_eq!(requests, 2, "{asked:?}");
}

#[test]
fn hosts_without_fast_open_send_no_option() {
    let off = [("tcp.fast_open = true", "tcp.fast_open = false")];
    let mut world = run(&scenario("slow_start_fast_open.toml", &off));
    let options = seen(&mut world, 0).iter().filter(|one| one.2.fast_open.is_some()).count();
    assert_eq!(options, 0);
}

#[test]
fn hosts_share_a_link_with_cake_and_flows_without() {
    let share = |changes: &[(&str, &str)]| {
        let world = run(&scenario("shared_cake_hosts.toml", changes));
        let bytes: Vec<f64> = (0..9).map(|flow| world.delivered_bytes(2 * flow) as f64).collect();
        bytes[0] / bytes.iter().sum::<f64>()
    };
    let hosts = share(&[]);
    assert!((0.45..0.55).contains(&hosts), "{hosts}");
    let flows = share(&[("isolate = \"dual_srchost\"", "isolate = \"flows\"")]);
    assert!((0.09..0.15).contains(&flows), "{flows}");
}

#[test]
fn a_proxy_holds_no_more_than_its_buffers_and_loses_nothing() {
    let whole = [("workload.bulk = {}", "workload.fixed_size = { bytes = 4_000_000 }")];
    let mut built = scenario("rwnd_split_proxy.toml", &whole).build();
    let world = &mut built.simulation;
    let mut most = 0;
    while world.now() < built.duration {
        world.run_until(world.now() + Nanos::from_millis(20));
        let unacknowledged = world.snapshot(2).send_buffer_bytes;
        let held = world.delivered_bytes(0) - world.delivered_bytes(2);
        let buffers = world.endpoint(1).receive_buffer_bytes() + 262_144 + unacknowledged;
        // A window is rounded up to the scale with every acknowledgement, as in Linux.
        let buffers = buffers + buffers / 20;
        assert!(held <= buffers, "{held} held, {buffers} in buffers at {:?}", world.now());
        most = most.max(held);
    }
    assert!(most > 262_144, "{most} held at most");
    assert_eq!([0, 2].map(|half| world.delivered_bytes(half)), [4_000_000; 2]);
    assert!([0, 1, 2, 3].iter().all(|half| { world.endpoint(*half).is_finished() }));
}

#[test]
fn a_proxy_passes_questions_on_and_answers_back() {
    let talk = "workload.request_response = \
         { request_bytes = 300, response_bytes = 20_000, count = 3 }";
    let mut world = run(&scenario("rwnd_split_proxy.toml", &[("workload.bulk = {}", talk)]));
    assert_eq!([0, 2].map(|half| world.delivered_bytes(half)), [900; 2]);
    assert_eq!([1, 3].map(|half| world.delivered_bytes(half)), [60_000; 2]);
    // The proxy hears of the first connection after half a round trip of 20 ms. It opens the
    // second one when the whole handshake is over.
    let list = seen(&mut world, 1);
    let begins = |half| list.iter().find(|one| one.1 == half).unwrap().0.0 as f64 / 1e6;
    assert!((10.0..10.1).contains(&begins(0)) && (30.0..30.1).contains(&begins(2)), "{list:?}");
}
