//! What the tests of the endpoint share.

#![allow(dead_code)]

pub mod net;
