//! The words of a verdict, as dictionaries for `tcpwhy.vocabulary`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tcpwhy_core::limit::{Cause, Confidence, Limitation};
use tcpwhy_core::reason::{CapacityMethod, CapacityUnknown, GainUnknown, StallCause};

/// The limitations, causes, confidences and reasons with all that is said of them: lists of
/// dictionaries, by name. The lists of reasons have the names of their columns.
#[pyfunction]
pub fn limits(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("limitations", listed(py, Limitation::ALL, limitation)?)?;
    all.set_item("causes", listed(py, Cause::ALL, cause)?)?;
    all.set_item("confidences", listed(py, &Confidence::ALL, confidence)?)?;
    let method =
        |row: &Bound<'_, PyDict>, word: CapacityMethod| reason(row, word.name(), word.meaning());
    all.set_item("capacity_method", listed(py, CapacityMethod::ALL, method)?)?;
    let capacity =
        |row: &Bound<'_, PyDict>, word: CapacityUnknown| reason(row, word.name(), word.meaning());
    all.set_item("capacity_unknown", listed(py, CapacityUnknown::ALL, capacity)?)?;
    let gain =
        |row: &Bound<'_, PyDict>, word: GainUnknown| reason(row, word.name(), word.meaning());
    all.set_item("gain_unknown", listed(py, GainUnknown::ALL, gain)?)?;
    let stall =
        |row: &Bound<'_, PyDict>, word: StallCause| reason(row, word.name(), word.meaning());
    all.set_item("stall_cause", listed(py, StallCause::ALL, stall)?)?;
    Ok(all)
}

fn listed<'py, T: Copy>(
    py: Python<'py>,
    items: &[T],
    of: fn(&Bound<'py, PyDict>, T) -> PyResult<()>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for &item in items {
        let row = PyDict::new(py);
        of(&row, item)?;
        list.append(row)?;
    }
    Ok(list)
}

fn limitation(row: &Bound<'_, PyDict>, limitation: Limitation) -> PyResult<()> {
    let about = limitation.about();
    row.set_item("word", about.word)?;
    row.set_item("doc", about.doc.trim())?;
    row.set_item("plain", about.plain)?;
    row.set_item("next", about.next)?;
    let owners: Vec<_> = about.owners.iter().map(|owner| owner.name()).collect();
    row.set_item("owners", owners)?;
    row.set_item("colour_light", about.colour_light)?;
    row.set_item("colour_dark", about.colour_dark)?;
    row.set_item("block", about.block)?;
    let paper: Vec<_> = about.paper.iter().map(|answer| answer.name()).collect();
    row.set_item("paper", paper)
}

fn cause(row: &Bound<'_, PyDict>, cause: Cause) -> PyResult<()> {
    let about = cause.about();
    row.set_item("word", about.word)?;
    row.set_item("doc", about.doc.trim())?;
    row.set_item("limitation", about.limitation.name())?;
    row.set_item("culprit", about.culprit)?;
    row.set_item("filter", about.filter)
}

fn confidence(row: &Bound<'_, PyDict>, confidence: Confidence) -> PyResult<()> {
    reason(row, confidence.name(), confidence.meaning())
}

fn reason(row: &Bound<'_, PyDict>, word: &str, meaning: &str) -> PyResult<()> {
    row.set_item("word", word)?;
    row.set_item("meaning", meaning)
}
