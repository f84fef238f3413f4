//! Where a file says what was refused. A deserializer that keeps the path of its keys would be
//! compiled again for every type of a scenario; the file is read again instead.

use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The path of what the file has at `span`, a key or a value: `flows[0].tcp.mss`. Of several there
/// it is the innermost one; nothing where the file itself is meant.
pub(super) fn key_at(text: &str, span: &Range<usize>, message: &str) -> String {
    let begins = |words: &str| message.starts_with(words);
    let of = if begins("unknown variant") {
        Of::Choice
    } else if ["unknown", "missing", "invalid", "duplicate"].into_iter().any(begins) {
        Of::Value
    } else {
        Of::Chosen
    };
    let table = DeTable::parse(text).ok();
    table.and_then(|table| Place { span, of }.in_table(table.get_ref(), "")).unwrap_or_default()
}

/// What a refusal is of.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    /// The name of an element, a queue, a workload: it is refused where one is to be chosen.
    Choice,
    /// What was chosen, after all its keys were read: the reader knows the table around it.
    Chosen,
    /// A key or a value.
    Value,
}

struct Place<'a> {
    span: &'a Range<usize>,
    of: Of,
}

impl Place<'_> {
    fn in_table(&self, table: &DeTable, around: &str) -> Option<String> {
        table.iter().find_map(|(key, value)| {
            let path = join(around, key.get_ref());
            // A table that only dots make lies where its key does.
            let is_key = key.span() == *self.span;
            if is_key && self.of == Of::Choice {
                return Some(around.to_owned());
            }
            self.in_value(value, &path).or_else(|| is_key.then_some(path))
        })
    }

    fn in_value(&self, value: &Spanned<DeValue>, path: &str) -> Option<String> {
        let inner = match value.get_ref() {
            DeValue::Table(table) => self.in_table(table, path),
            DeValue::Array(values) => values
                .iter()
                .enumerate()
                .find_map(|(i, value)| self.in_value(value, &format!("{path}[{i}]"))),
            _ => None,
        };
        inner.or_else(|| (value.span() == *self.span).then(|| self.of_value(value, path)))
    }

    fn of_value(&self, value: &Spanned<DeValue>, path: &str) -> String {
        match value.get_ref() {
            DeValue::Table(table) if self.of == Of::Chosen && table.len() == 1 => {
                table.keys().map(|key| join(path, key.get_ref())).collect()
            }
            _ => path.to_owned(),
        }
    }
}

fn join(around: &str, key: &str) -> String {
    let dot = if around.is_empty() { "" } else { "." };
    format!("{around}{dot}{key}")
}
