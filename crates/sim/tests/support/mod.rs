//! What the tests of the endpoint share.

#![expect(dead_code, reason = "each test binary uses its part")]

pub mod golden;
pub mod net;
pub mod script;
mod settings;
