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
        ScenarioError { file: file.to_owned(), line, key: key.to_owned(), message }
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
