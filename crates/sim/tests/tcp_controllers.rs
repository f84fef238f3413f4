//! What the controllers do over time, as tables: CUBIC's growth, the end of slow start, BBR's
//! states.

use crate::support::golden;
use crate::support::net::{Flow, Net, Pipe};
use std::fmt::Write;
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::cc;
use tcpwhy_sim::endpoint::Endpoint;
use tcpwhy_sim::tcp::Config;
use tcpwhy_sim::tcp::config::Buffer;

const MSS: u64 = 1_000;

fn config(controller: &str) -> Config {
    Config {
        controller: cc::find(controller).unwrap(),
        mss: MSS as u16,
        timestamps: false,
        delayed_ack: None,
        receive_buffer: Buffer::fixed(100_000_000),
        send_buffer: Buffer::fixed(100_000_000),
        ..Config::default()
    }
}

fn single(config: &Config, pipe: Pipe) -> Net {
    let back = Pipe::new(0, pipe.delay, 0);
    let flow = Flow {
        client: config.clone(),
        server: config.clone(),
        start: Nanos(0),
        bytes: None,
        reads: true,
    };
    Net::new([pipe, back], &[flow], 1)
}

fn cwnd(net: &Net) -> f64 {
    net.flows[0].client.snapshot(net.now).cwnd_bytes as f64 / MSS as f64
}

/// Runs until the phase of congestion control changes to `phase`.
fn run_to_phase(net: &mut Net, phase: &str) {
    let at = |net: &Net| net.flows[0].client.snapshot(net.now).phase.name();
    net.run(Nanos::MAX, |net| at(net) == phase);
}

/// One loss at a window of 500 segments, then the cubic: RFC 9438 figures 1 and 2. The congestion
/// avoidance stage begins when recovery ends.
#[test]
fn cubic_grows_as_its_formula() {
    let rtt = 0.1;
    let mut pipe = Pipe::new(0, Nanos::from_secs_f64(rtt / 2.0), 0);
    pipe.drop_at = vec![3_000];
    let config = Config {
        initial_window_segs: 500,
        initial_ssthresh_bytes: Some(500 * MSS),
        ..config("cubic_rfc9438")
    };
    let mut net = single(&config, pipe);
    run_to_phase(&mut net, "recovery");
    // W_max is cwnd before the reduction.
    let w_max = net.flows[0].client.snapshot(net.now).ssthresh_bytes.unwrap() as f64 / 0.7 / 1e3;
    run_to_phase(&mut net, "congestion_avoidance");
    let (begun, epoch) = (net.now, cwnd(&net));
    let k = ((w_max - epoch) / 0.4f64).cbrt();
    let mut table = format!(
        "CUBIC after a loss at W_max = {w_max:.1} segments, 0.1 s round trip: \
         RFC 9438 figures 1 and\n2, K = {k:.3} s.\n\n      t    cwnd  W_cubic   error\n"
    );
    for t in 0..=14 {
        net.run(begun + Nanos::from_secs_f64(f64::from(t)), |_| false);
        let w_cubic = 0.4 * (f64::from(t) - k).powi(3) + w_max;
        let error = 100.0 * (cwnd(&net) / w_cubic - 1.0);
        writeln!(table, "{t:5} s {:7.1} {w_cubic:8.1} {error:6.2} %", cwnd(&net)).unwrap();
        assert!(error.abs() < 1.0, "t = {t}: {} and {w_cubic}", cwnd(&net));
    }
    println!("{table}");
    golden::check("cubic_growth", &table);
}

/// With a small window the Reno-friendly region rules: alpha = 9/17 segments a round trip up to the
/// window before the loss, one segment above it (RFC 9438 section 4.3).
#[test]
fn cubic_is_as_fast_as_reno_in_small_windows() {
    let mut pipe = Pipe::new(0, Nanos::from_millis(5), 0);
    pipe.drop_at = vec![100];
    let config = Config {
        initial_window_segs: 20,
        initial_ssthresh_bytes: Some(20 * MSS),
        ..config("cubic_rfc9438")
    };
    let mut net = single(&config, pipe);
    run_to_phase(&mut net, "recovery");
    run_to_phase(&mut net, "congestion_avoidance");
    let (begun, epoch) = (net.now, cwnd(&net));
    let mut table = String::from(
        "CUBIC, Reno-friendly: 10 ms round trip.\n\n   t/RTT    cwnd  growth per RTT\n",
    );
    let mut before = epoch;
    for step in 1..=8 {
        net.run(begun + Nanos::from_millis(step * 50), |_| false);
        let growth = (cwnd(&net) - before) / 5.0;
        writeln!(table, "{:8} {:7.2} {growth:15.3}", step * 5, cwnd(&net)).unwrap();
        before = cwnd(&net);
    }
    println!("{table}");
    golden::check("cubic_reno_friendly", &table);
}

/// HyStart++ leaves slow start when the queue grows, before it overflows; without it the window
/// overshoots and a flight is lost.
#[test]
fn hystart_leaves_slow_start_before_the_queue_overflows() {
    let mut table = String::from(
        "Slow start into 100 Mbit/s, 40 ms, a queue of 3600 segments; 474 fill the path.\n\n\
         controller     at          state                       cwnd   srtt      lost\n",
    );
    for controller in ["cubic", "cubic_rfc9438", "newreno"] {
        let pipe = Pipe::new(100_000_000, Nanos::from_millis(20), 3_600);
        let mut net = single(&config(controller), pipe);
        let mut last = "";
        for _ in 0..3 {
            net.run(Nanos::from_millis(3_600), |net| {
                let state = net.flows[0].client.controller_state();
                state != last && net.flows[0].client.snapshot(net.now).data_segments > 0
            });
            last = net.flows[0].client.controller_state();
            let snapshot = net.flows[0].client.snapshot(net.now);
            writeln!(
                table,
                "{controller:13} {:7.3} s  {last:23} {:7.1} {:6.1} ms {:5}",
                net.now.as_secs_f64(),
                cwnd(&net),
                1e3 * snapshot.srtt_ns.unwrap().as_secs_f64(),
                net.drops
            )
            .unwrap();
        }
        if controller != "newreno" {
            assert_eq!((last, net.drops), ("congestion_avoidance", 0));
        }
    }
    println!("{table}");
    golden::check("slow_start_exit", &table);
}

/// A flow's states, their durations, gains and windows, over a path of 10 Mbit/s and 40 ms.
fn bbr_states(controller: &str, seconds: i64) -> (String, Vec<(&'static str, f64)>) {
    let rate = 10_000_000;
    let pipe = Pipe::new(rate, Nanos::from_millis(20), 400);
    let mut net = single(&config(controller), pipe);
    let bdp = 10e6 * 0.04 / 8.0;
    let mut table = String::from(
        "  from      for  state             pacing   cwnd  inflight    rtt\n\
         \x20    s       ms                     x rate  x BDP     x BDP     ms\n",
    );
    let mut states = Vec::new();
    let (mut state, mut since) = ("", Nanos(0));
    let mut row = String::new();
    net.run(Nanos(seconds * Nanos::SECOND.0), |net| {
        let client = &net.flows[0].client;
        let snapshot = client.snapshot(net.now);
        if client.controller_state() != state {
            let duration = net.now.since(since).as_secs_f64();
            if !state.is_empty() {
                let (at, ms) = (since.as_secs_f64(), 1e3 * duration);
                writeln!(table, "{at:6.3} {ms:8.1}  {state:16} {row}").unwrap();
                states.push((state, duration));
            }
            (state, since) = (client.controller_state(), net.now);
        }
        // What the state ends with.
        row = format!(
            "{:7.3} {:6.2} {:9.2} {:6.1}",
            snapshot.pacing_rate_bps.unwrap_or(0) as f64 / (rate as f64 * 1_000.0 / 1_054.0),
            snapshot.cwnd_bytes as f64 / bdp,
            snapshot.pipe_bytes as f64 / bdp,
            1e3 * snapshot.srtt_ns.map_or(0.0, Nanos::as_secs_f64),
        );
        false
    });
    (table, states)
}

#[test]
fn bbr1_cycles_through_its_states() {
    let (table, states) = bbr_states("bbr1", 11);
    println!("{table}");
    golden::check("bbr1_states", &table.lines().take(30).collect::<Vec<_>>().join("\n"));
    let names: Vec<_> = states.iter().map(|state| state.0).collect();
    assert_eq!(names[..3], ["Startup", "Drain", names[2]]);
    assert!(names.contains(&"ProbeRTT"));
}

#[test]
fn bbr3_cycles_through_its_states() {
    let (table, states) = bbr_states("bbr3", 16);
    println!("{table}");
    golden::check("bbr3_states", &table);
    let names: Vec<_> = states.iter().map(|state| state.0).collect();
    // Drain leaves nothing to decelerate for: DOWN ends with the acknowledgement that begins it.
    assert_eq!(names[..3], ["Startup", "Drain", "ProbeBW_CRUISE"]);
    let cycle = ["ProbeBW_REFILL", "ProbeBW_UP", "ProbeBW_DOWN", "ProbeBW_CRUISE"];
    assert_eq!(names[3..7], cycle);
    for (name, seconds) in states {
        match name {
            // Section 5.3.4: 200 ms and a round trip at least, and not much more.
            "ProbeRTT" => assert!((0.2..0.4).contains(&seconds), "{name} {seconds}"),
            // Section 5.3.3.3: one packet-timed round trip.
            "ProbeBW_REFILL" => assert!((0.03..0.12).contains(&seconds), "{name} {seconds}"),
            // Section 5.3.3.8: 2 to 3 s between probes, less DOWN, or 62 round trips.
            "ProbeBW_CRUISE" => assert!(seconds < 3.1, "{name} {seconds}"),
            _ => {}
        }
    }
}

/// What each controller makes of short and long queues and of random loss.
#[test]
fn controllers_meet_queues_and_losses() {
    let losses = [0.0, 0.001, 0.01, 0.03];
    let mut table = String::from(
        "Utilisation in percent of 10 Mbit/s, 40 ms round trip (47 segments), from 5 to 30 s.\n\n\
         controller     queue  loss 0 %   0.1 %     1 %     3 %\n",
    );
    for controller in cc::CONTROLLERS.iter().filter(|it| it.name != "fixed") {
        for queue in [9, 47, 190] {
            write!(table, "{:13} {queue:6}  ", controller.name).unwrap();
            for loss in losses {
                let used = utilisation(controller.name, queue, loss);
                write!(table, "{used:8.1}").unwrap();
                // Draft sections 3.1 and A: at most 1 % of loss is to be borne, and BBR 1 does not
                // look at losses at all.
                let bears_loss = match controller.name {
                    "bbr1" => true,
                    "bbr3" => loss <= 0.01 && queue >= 47,
                    _ => loss == 0.0 && queue >= 47,
                };
                assert!(used > if bears_loss { 80.0 } else { 5.0 }, "{} {used}", controller.name);
            }
            writeln!(table).unwrap();
        }
    }
    println!("{table}");
    golden::check("utilisation", &table);
}

fn utilisation(controller: &str, queue: usize, loss: f64) -> f64 {
    let mut pipe = Pipe::new(10_000_000, Nanos::from_millis(20), queue);
    pipe.loss = loss;
    let mut net = single(&config(controller), pipe);
    let delivered = |net: &Net| net.flows[0].server.delivered_bytes();
    net.run(Nanos(5 * Nanos::SECOND.0), |_| false);
    let before = delivered(&net);
    net.run(Nanos(30 * Nanos::SECOND.0), |_| false);
    let bits = (delivered(&net) - before) as f64 * 8.0 * 1_054.0 / 1_000.0;
    100.0 * bits / (25.0 * 10e6)
}

/// draft-ietf-ccwg-bbr-06 appendix A.15 and A.16: the bandwidth grows and falls by a factor of ten.
#[test]
fn controllers_follow_a_change_of_bandwidth() {
    let mut table = String::from(
        "40 ms round trip, a queue of 100 segments. 4 Mbit/s become 40 at 10 s and 4 again \
         at 30 s;\nutilisation in percent, of the rate of the time.\n\n\
         controller      5-10 s   10-12   12-15   15-20   20-30 | 30-32   32-35   35-50 s    \
         rtt at 50 s\n",
    );
    let spans = [(5, 10), (10, 12), (12, 15), (15, 20), (20, 30), (30, 32), (32, 35), (35, 50)];
    for controller in cc::CONTROLLERS.iter().filter(|it| it.name != "fixed") {
        let mut pipe = Pipe::new(4_000_000, Nanos::from_millis(20), 100);
        let second = Nanos::SECOND.0;
        pipe.rate_changes = vec![(Nanos(10 * second), 40_000_000), (Nanos(30 * second), 4_000_000)];
        let mut net = single(&config(controller.name), pipe);
        write!(table, "{:13}", controller.name).unwrap();
        for (from, to) in spans {
            net.run(Nanos(from * second), |_| false);
            let before = net.flows[0].server.delivered_bytes();
            net.run(Nanos(to * second), |_| false);
            let bits = (net.flows[0].server.delivered_bytes() - before) as f64 * 8.0 * 1.054;
            let rate = if (10..30).contains(&from) { 40e6 } else { 4e6 };
            let used = 100.0 * bits / ((to - from) as f64 * rate);
            write!(table, "{used:8.1}").unwrap();
            assert!(from != 35 || used > 90.0, "{}: {used} after the fall", controller.name);
        }
        let srtt = net.flows[0].client.snapshot(net.now).srtt_ns.unwrap();
        writeln!(table, "{:12.1} ms", 1e3 * srtt.as_secs_f64()).unwrap();
    }
    println!("{table}");
    golden::check("bandwidth_changes", &table);
}

/// One recovery follows another while sacked data are outstanding: FlightSize, which includes them,
/// is then larger than cwnd, and a loss must lower the window all the same (RFC 5681 section 3.1).
#[test]
fn a_loss_never_raises_the_window() {
    for (controller, factor) in [
        ("reno", 0.5),
        ("reno_per_ack", 0.5),
        ("newreno", 0.5),
        ("cubic", 0.7),
        ("cubic_rfc9438", 0.7),
    ] {
        let mut pipe = Pipe::new(20_000_000, Nanos::from_millis(20), 100);
        pipe.loss = 0.1;
        let mut net = single(&config(controller), pipe);
        let (mut cwnd, mut ssthresh, mut losses) = (0, None, 0);
        net.run(Nanos::from_millis(60_000), |net| {
            let now = net.flows[0].client.snapshot(net.now);
            if now.ssthresh_bytes != ssthresh && now.phase.name() == "recovery" {
                let bound = (cwnd as f64 * factor).max(2.0 * MSS as f64);
                let after = now.ssthresh_bytes.unwrap() as f64;
                assert!(after <= bound, "{controller}: {after} after a window of {cwnd} bytes");
                losses += 1;
            }
            (cwnd, ssthresh) = (now.cwnd_bytes, now.ssthresh_bytes);
            false
        });
        assert!(losses > 20, "{controller}: {losses} losses");
    }
}
