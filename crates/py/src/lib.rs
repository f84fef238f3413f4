//! Python bindings: options in, record batches out.

use pyo3::pymodule;

/// The extension module `tcpwhy._core`.
#[pymodule(gil_used = false)]
mod _core {}
