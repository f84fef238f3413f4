//! Sentences that grow word by word: no part of one is a text of its own.

use crate::record::Text;
use std::fmt::{Arguments, Write};

/// A sentence under way. Semicolons divide its parts.
pub struct Sentence {
    text: String,
}

impl Default for Sentence {
    fn default() -> Sentence {
        Sentence { text: String::with_capacity(USUAL_BYTES) }
    }
}

impl Sentence {
    /// Begins the next part.
    pub fn part(&mut self) -> &mut Sentence {
        if !self.text.is_empty() {
            self.text.push_str("; ");
        }
        self
    }

    /// Adds words to the part, without the formatter behind `write!`.
    pub fn add(&mut self, words: &[&str]) -> &mut Sentence {
        words.iter().for_each(|word| self.text.push_str(word));
        self
    }

    /// What `write!` calls.
    pub fn write_fmt(&mut self, words: Arguments<'_>) {
        self.text.write_fmt(words).expect("a text takes any words");
    }
}

impl From<Sentence> for Text {
    fn from(sentence: Sentence) -> Text {
        Text::Owned(sentence.text)
    }
}

/// Most sentences are shorter. Rows that wait for a batch are few, so the rest is no loss.
const USUAL_BYTES: usize = 320;
