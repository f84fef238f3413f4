#![no_main]

#[path = "../bodies.rs"]
#[expect(dead_code, reason = "a target uses one of the functions")]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::capture(data));
