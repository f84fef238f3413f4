//! The tests of what the crate offers, as one program: it is linked once.

mod adaptivity;
mod fuzz_corpus;
mod middleboxes;
mod refusals;
mod scenarios;
mod support;
mod tcp_controllers;
mod tcp_properties;
mod tcp_scripts;
mod tcp_throughput;
