//! What is wrong with a scenario file, and where.

use std::fmt;
use std::ops::Range;

/// A scenario file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The key, with the tables around it, as `links.access.forward[0].rate.rate_bps`.
    pub key: String,
    /// What is wrong with it, and which values are allowed.
    pub message: String,
}

impl ScenarioError {
    /// An error about what stands at `span` of `text`.
    pub fn at(file: &str, text: &str, span: Range<usize>, key: &str, message: String) -> Self {
        let before = &text[..span.start.min(text.len())];
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
        ScenarioError { file: file.to_owned(), line, key: key.to_owned(), message: plain(&message) }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        if !self.key.is_empty() && self.key != "." {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScenarioError {}

/// A message of the reader in the words of scenario files instead of those of its language.
fn plain(message: &str) -> String {
    let mut text = message.replace('\n', " ");
    for (from, to) in WORDS {
        text = text.replace(from, to);
    }
    match text.split_once("expected struct ").or_else(|| text.split_once("expected enum ")) {
        Some((before, rest)) => {
            // The name of a type is one word.
            let rest = rest.split_once(' ').map_or("", |(_, rest)| rest);
            format!("{before}expected a table {rest}").trim_end().to_owned()
        }
        None => text,
    }
}

/// What the reader says, and what a scenario calls it. Longer ones come before their parts.
const WORDS: [(&str, &str); 22] = [
    ("externally tagged enum", "a table with one name"),
    ("unknown variant", "unknown name"),
    ("unit variant", "name"),
    ("newtype variant", "name with settings"),
    ("struct variant", "name with settings"),
    ("variant identifier", "name"),
    ("unknown field", "unknown key"),
    ("missing field", "missing key"),
    ("duplicate field", "duplicate key"),
    ("field identifier", "key"),
    ("floating point", "number"),
    ("a tuple of size 2", "a list of two"),
    ("a sequence", "a list"),
    ("sequence", "list"),
    ("a map", "a table"),
    ("type: map", "type: table"),
    ("usize", "a whole number from 0"),
    ("u64", "a whole number from 0"),
    ("u32", "a whole number from 0"),
    ("u16", "a whole number from 0 to 65,535"),
    ("i64", "a whole number"),
    ("f64", "a number"),
];
