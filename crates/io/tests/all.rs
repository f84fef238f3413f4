//! The tests of what the crate offers, as one program: it is linked once.

mod captures;
mod models;
mod numbers;
mod oracles;
mod shared;
mod simulate;
mod stream;
