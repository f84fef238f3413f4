//! Throughput models over numbers and over columns of numbers.

use crate::UsageError;
use crate::arrow::schema_capsule;
use arrow_array::builder::Float64Builder;
use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::{Array, Float64Array};
use arrow_schema::{DataType, Field};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use tcpwhy_core::model::{Domain, Fallback, MODELS, Model, Parameter};

/// A parameter as Python sees it: name, meaning, values allowed, default, how it is derived when
/// there is no default, and its words if it is a choice. Required when neither is there.
type ParameterRow =
    (&'static str, String, String, Option<f64>, Option<&'static str>, Vec<&'static str>);

/// A model as Python sees it: name, meaning, formula, source, conditions, parameters.
type ModelRow =
    (&'static str, String, &'static str, &'static str, Vec<&'static str>, Vec<ParameterRow>);

/// A prediction: the rate or the reason for none, a caution, and the steps with their values.
type PredictionRow = (Option<f64>, Option<String>, Option<&'static str>, Vec<(&'static str, f64)>);

/// Every model, in the order in which they are listed.
#[pyfunction]
pub fn models() -> Vec<ModelRow> {
    let rows = MODELS.iter().map(|model| {
        let parameters = model.parameters.iter().map(parameter_row).collect();
        let conditions = model.conditions.to_vec();
        (model.name, prose(model.doc), model.formula, model.source, conditions, parameters)
    });
    rows.collect()
}

/// Predicts from one value for each parameter, in their order. Not a number stands for unknown.
#[pyfunction]
pub fn predict_one(name: &str, values: Vec<f64>) -> PyResult<PredictionRow> {
    Ok(match model(name)?.predict(&values) {
        Ok(found) => (Some(found.rate_bps), None, found.caution, found.steps),
        Err(outside) => (None, Some(outside.to_string()), None, Vec::new()),
    })
}

/// Predicts row by row from numbers and columns of float64, one for each parameter in their order.
#[pyfunction]
pub fn predict(py: Python<'_>, name: &str, values: Vec<Values>) -> PyResult<Column> {
    let model = model(name)?;
    let columns: Vec<Vec<f64>> = values.into_iter().map(|v| v.read(py)).collect::<PyResult<_>>()?;
    let rows = columns.iter().map(Vec::len).find(|&len| len != 1).unwrap_or(1);
    if let Some(wrong) = columns.iter().find(|column| column.len() != 1 && column.len() != rows) {
        let message = format!("columns of {rows} and of {} rows do not go together", wrong.len());
        return Err(UsageError::new_err(message));
    }
    let rates = py.detach(|| {
        let mut rates = Float64Builder::with_capacity(rows);
        let mut row = vec![0.0; columns.len()];
        for at in 0..rows {
            for (value, column) in row.iter_mut().zip(&columns) {
                *value = column[if column.len() == 1 { 0 } else { at }];
            }
            rates.append_option(model.predict(&row).ok().map(|found| found.rate_bps));
        }
        rates.finish()
    });
    Ok(Column(rates))
}

/// The value of a parameter that is just good enough for a rate; UsageError when there is none.
#[pyfunction]
pub fn solve(name: &str, parameter: &str, rate_bps: f64, values: Vec<f64>) -> PyResult<f64> {
    let model = model(name)?;
    let unknown = || UsageError::new_err(format!("the model {name} has no parameter {parameter}"));
    let at = model.position(parameter).ok_or_else(unknown)?;
    let found = model.solve(at, rate_bps, &values);
    found.map_err(|outside| UsageError::new_err(outside.to_string()))
}

/// A number, or a column of them.
#[derive(FromPyObject)]
pub enum Values {
    /// A column: float64, one after the other, as the buffer protocol has it.
    Many(PyBuffer<f64>),
    /// A column as a list.
    Listed(Vec<f64>),
    /// One number for all rows.
    One(f64),
}

impl Values {
    fn read(self, py: Python<'_>) -> PyResult<Vec<f64>> {
        match self {
            Values::Many(buffer) => buffer.to_vec(py),
            Values::Listed(list) => Ok(list),
            Values::One(number) => Ok(vec![number]),
        }
    }
}

/// A column of rates: Arrow float64, NULL where the model has no answer.
#[pyclass(frozen, module = "tcpwhy._core")]
pub struct Column(Float64Array);

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The values as native float64, not a number for NULL.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let values = self.0.iter().map(|value| value.unwrap_or(f64::NAN));
        let bytes: Vec<u8> = values.flat_map(f64::to_ne_bytes).collect();
        PyBytes::new(py, &bytes)
    }

    /// The values as a list, None for NULL.
    fn to_list(&self) -> Vec<Option<f64>> {
        self.0.iter().collect()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let array = FFI_ArrowArray::new(&self.0.to_data());
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        let field = Field::new("rate_bps", DataType::Float64, true);
        Ok((schema_capsule(py, &field)?, array))
    }
}

fn model(name: &str) -> PyResult<&'static Model> {
    Model::named(name).ok_or_else(|| {
        let known: Vec<_> = MODELS.iter().map(|model| model.name).collect();
        UsageError::new_err(format!("no model '{name}': there are {}", known.join(", ")))
    })
}

fn parameter_row(parameter: &Parameter) -> ParameterRow {
    let (default, derived) = match parameter.fallback {
        Fallback::Required => (None, None),
        Fallback::Value(value) => (Some(value), None),
        Fallback::Derived(how) => (None, Some(how)),
    };
    let allowed = match parameter.domain {
        Domain::Choice => parameter.choices.join(" or "),
        domain => domain.describe().to_owned(),
    };
    let choices = parameter.choices.to_vec();
    (parameter.name, prose(parameter.doc), allowed, default, derived, choices)
}

/// Lines of a doc comment as one.
fn prose(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}
