//! What the fuzz target of scenario files does. `crates/sim/tests/fuzz_corpus.rs` replays the
//! corpus through the same function.

use tcpwhy_core::units::Nanos;
use tcpwhy_sim::scenario::Scenario;

/// A scenario file: refused with its place, or it runs for some events.
pub fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Scenario::parse("fuzz.toml", text) {
        Err(error) => assert!(error.to_string().starts_with("fuzz.toml:")),
        Ok(scenario) => {
            let mut built = scenario.build();
            built.simulation.record_truth(Nanos::from_millis(100));
            built.simulation.run_some(built.duration, 2_000);
        }
    }
}
