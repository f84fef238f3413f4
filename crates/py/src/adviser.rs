//! The advice of the core for a sender whose kernel was asked.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tcpwhy_core::adviser::{self, Socket};

/// The facts of a [`Socket`], by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Facts {
    seconds: f64,
    acked_bytes: f64,
    segments: f64,
    retransmits: f64,
    rtt_ns: f64,
    rtt_min_ns: f64,
    mss_bytes: f64,
    window_bytes: f64,
    window_max_bytes: Option<f64>,
    buffer_bytes: f64,
    link_bps: Option<f64>,
    pace_bps: Option<f64>,
}

/// Advice for a sender limited by `word`, a cause or a limitation: `remedy`, `headroom_bps`,
/// `next_limitation` and `gain_unknown`, each as in the tables.
#[pyfunction]
pub fn advise<'py>(py: Python<'py>, word: &str, facts: Facts) -> PyResult<Bound<'py, PyDict>> {
    let advice = adviser::advise(word, &facts.socket());
    let known = advice.gain.ok();
    let told = PyDict::new(py);
    told.set_item("remedy", advice.remedy.as_deref())?;
    told.set_item("headroom_bps", known.map(|gain| gain.bps))?;
    let next = known.and_then(|gain| gain.next);
    told.set_item("next_limitation", next.map(|limitation| limitation.name()))?;
    told.set_item("gain_unknown", advice.gain.err().map(|reason| reason.name()))?;
    Ok(told)
}

impl Facts {
    fn socket(&self) -> Socket {
        Socket {
            seconds: self.seconds,
            acked_bytes: self.acked_bytes,
            segments: self.segments,
            retransmits: self.retransmits,
            rtt_ns: self.rtt_ns,
            rtt_min_ns: self.rtt_min_ns,
            mss_bytes: self.mss_bytes,
            window_bytes: self.window_bytes,
            window_max_bytes: self.window_max_bytes,
            buffer_bytes: self.buffer_bytes,
            link_bps: self.link_bps,
            pace_bps: self.pace_bps,
        }
    }
}
