//! The registry of options for Python, and Python's values for the registry.

use crate::exception;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt};
use tcpwhy_io::option::{Command, Default, Kind, OPTIONS, Settings, Value};

/// Every option as a dictionary: name, commands, group, kind, least, choices, metavar, default,
/// unless, help. Numbers are in base units.
#[pyfunction]
pub fn options(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    OPTIONS
        .iter()
        .map(|option| {
            let entry = PyDict::new(py);
            entry.set_item("name", option.name)?;
            entry.set_item(
                "commands",
                option.commands.iter().map(|c| c.name()).collect::<Vec<_>>(),
            )?;
            entry.set_item("group", option.group)?;
            entry.set_item("kind", option.kind.name())?;
            let (least, choices, metavar) = match option.kind {
                Kind::Count(least) | Kind::Bytes(least) => (Some(least), &[][..], None),
                Kind::Choice(known) => (None, known, None),
                Kind::Text(shown) | Kind::Path(shown) => (None, &[][..], Some(shown)),
                Kind::Duration | Kind::Factor | Kind::Flag => (None, &[][..], None),
            };
            entry.set_item("least", least)?;
            entry.set_item("choices", choices)?;
            entry.set_item("metavar", metavar)?;
            match option.default {
                Default::None(_) => entry.set_item("default", py.None())?,
                Default::Number(number) => entry.set_item("default", number)?,
                Default::Text(text) => entry.set_item("default", text)?,
                Default::Flag(flag) => entry.set_item("default", flag)?,
            }
            let Default::None(unless) = option.default else {
                entry.set_item("unless", py.None())?;
                entry.set_item("help", option.help)?;
                return Ok(entry);
            };
            entry.set_item("unless", unless)?;
            entry.set_item("help", option.help)?;
            Ok(entry)
        })
        .collect()
}

/// The settings of a command with these values; None stands for the default.
pub fn settings(command: Command, given: &Bound<'_, PyDict>) -> PyResult<Settings> {
    let mut settings = Settings::of(command);
    for (name, value) in given {
        if value.is_none() {
            continue;
        }
        let name: String = name.extract()?;
        let value = if let Ok(flag) = value.cast::<PyBool>() {
            Value::Flag(flag.is_true())
        } else if value.is_instance_of::<PyInt>() {
            Value::Number(value.extract()?)
        } else if value.is_instance_of::<PyFloat>() {
            Value::Factor(value.extract()?)
        } else {
            Value::Text(value.extract()?)
        };
        settings.set(command, &name, value).map_err(|error| exception(&error))?;
    }
    Ok(settings)
}
