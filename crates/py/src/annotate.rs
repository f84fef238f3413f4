//! Captures with comments, from Python.

use crate::exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::net::IpAddr;
use std::path::PathBuf;
use tcpwhy_core::units::Nanos;
use tcpwhy_io::annotate::Comments;

/// Comments that wait for their frames, and the copy of captures that has them.
#[pyclass(frozen, module = "tcpwhy._core")]
#[derive(Default)]
pub struct Annotations(Comments);

#[pymethods]
impl Annotations {
    #[new]
    fn new() -> Annotations {
        Annotations::default()
    }

    /// Has the first frame from `src` to `dst` from a time on say something; from any thread. False
    /// when too many comments wait.
    fn add(&self, src: (&str, u16), dst: (&str, u16), at_ns: i64, text: String) -> PyResult<bool> {
        let direction = (endpoint(src)?, endpoint(dst)?);
        Ok(self.0.add(direction, Nanos(at_ns), text))
    }

    /// Writes the frames of captures as pcapng; gives how many there were, how many have a comment,
    /// and what is wrong with the captures.
    fn write(
        &self,
        py: Python<'_>,
        inputs: Vec<PathBuf>,
        output: PathBuf,
    ) -> PyResult<(u64, u64, Vec<PyErr>)> {
        let written = py.detach(|| self.0.write(&inputs, &output))?;
        let damage = written.damage.iter().map(exception).collect();
        Ok((written.frames, written.comments, damage))
    }
}

fn endpoint((address, port): (&str, u16)) -> PyResult<(IpAddr, u16)> {
    let ip =
        address.parse().map_err(|_| PyValueError::new_err(format!("no address: {address}")))?;
    Ok((ip, port))
}
