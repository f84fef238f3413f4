//! What the tests of the endpoint share.

pub mod golden;
pub mod net;
pub mod script;
mod settings;
