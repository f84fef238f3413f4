//! The words of a verdict, as dictionaries for `tcpwhy.vocabulary`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tcpwhy_core::limit::{Cause, Confidence, Limitation};

/// The limitations, causes and confidences with all that is said of them: three lists of
/// dictionaries, by name.
#[pyfunction]
pub fn limits(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("limitations", listed(py, Limitation::ALL, limitation)?)?;
    all.set_item("causes", listed(py, Cause::ALL, cause)?)?;
    all.set_item("confidences", listed(py, &Confidence::ALL, confidence)?)?;
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
    row.set_item("hue", about.hue)?;
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
    row.set_item("word", confidence.name())?;
    row.set_item("meaning", confidence.meaning())
}
