//! The tests of what the crate offers, as one program: it is linked once. `memory` has a program of
//! its own: it measures its process.

mod bounds;
mod fuzz_corpus;
mod pipeline;
mod support;
