#![no_main]

#[path = "../scenarios.rs"]
mod scenarios;

libfuzzer_sys::fuzz_target!(|data: &[u8]| scenarios::scenario(data));
