//! Items that a thread of Rust produces and Python waits for, without holding the interpreter lock
//! and without ignoring Ctrl-C.

use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The next item, `None` at the end of the thread.
pub fn next<T: Send>(py: Python<'_>, items: &Mutex<Receiver<T>>) -> PyResult<Option<T>> {
    loop {
        let received = py.detach(|| {
            let items = items.lock().expect("no thread panics with this lock");
            items.recv_timeout(SIGNAL_CHECK)
        });
        match received {
            Ok(item) => return Ok(Some(item)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
    }
}

/// Items that wait for Python. Few: a slow consumer slows the producer down, not the memory.
pub const WAITING: usize = 2;

/// How long Ctrl-C may go unnoticed while no item comes.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);
