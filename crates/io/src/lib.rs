//! Everything of tcpwhy that touches the world: files, capture rings, sockets. It decides nothing
//! about TCP.

pub mod annotate;
pub mod capture;
mod codec;
pub mod emulate;
mod error;
mod files;
mod filter;
mod input;
mod intake;
pub mod option;
pub mod parquet;
mod progress;
pub mod simulate;
mod sources;
pub mod stream;
pub mod study;
mod sys;
pub mod worlds;

pub use capture::{Capture, Fanout};
pub use emulate::duplicate;
pub use error::Error;
pub use files::read_frames;
pub use progress::{Progress, Standing};
pub use stream::{Handle, Source, Stream, analyze, monitor};
pub use sys::memory::give_back_when_freed;
