//! Whatever the path does, the stream arrives whole, in order and once.

mod support;

use support::net::{Flow, Net, Pipe};
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::cc::CONTROLLERS;
use tcpwhy_sim::endpoint::Endpoint;
use tcpwhy_sim::random::Random;
use tcpwhy_sim::tcp::Config;
use tcpwhy_sim::tcp::config::Variant;

#[test]
fn every_byte_arrives_once_in_order() {
    for controller in CONTROLLERS {
        for recovery in Variant::ALL {
            for seed in 0..6 {
                transfer(controller.name, recovery, seed);
            }
        }
    }
}

fn transfer(controller: &'static str, recovery: Variant, seed: u64) {
    let mut random = Random::stream(seed, 1);
    let mut below = |bound: f64| random.unit() * bound;
    let mut pipe =
        Pipe::new(10_000_000, Nanos::from_millis(5 + below(40.0) as i64), 5 + below(60.0) as usize);
    pipe.loss = below(0.05);
    pipe.reorder = below(0.05);
    pipe.detour = Nanos::from_micros(below(30_000.0) as i64);
    pipe.duplicate = below(0.03);
    let mut back = pipe.clone();
    back.loss = below(0.05);
    let config = Config {
        controller: tcpwhy_sim::cc::find(controller).unwrap(),
        recovery,
        timestamps: seed % 2 == 0,
        seed,
        ..Config::default()
    };
    let bytes = 300_000;
    let flow = Flow {
        client: config.clone(),
        server: config,
        start: Nanos(0),
        bytes: Some(bytes),
        reads: true,
    };
    let mut net = Net::new([pipe, back], &[flow], seed);
    net.keep_book();
    net.run(Nanos(3_000 * Nanos::SECOND.0), |net| {
        let peer = &net.flows[0];
        peer.client.is_finished() && peer.server.is_finished()
    });
    let peer = &mut net.flows[0];
    let snapshot = peer.client.snapshot(net.now);
    assert_eq!(
        peer.server.delivered_bytes(),
        bytes,
        "{controller} {} seed {seed}: stalled: {snapshot:?}",
        recovery.name()
    );
    assert!(peer.client.is_finished(), "{controller} {recovery:?} {seed}: {snapshot:?}");
    peer.check_delivered();
}
