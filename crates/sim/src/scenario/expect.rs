//! The words for what limits a connection, and what a scenario says about its flows.

use crate::parameter::Seconds;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use tcpwhy_core::limit::{Cause, Limitation};

/// What truly limits a half of a flow during a span of time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Number of the flow, from 0, in the order of the file with repeated flows counted out.
    #[serde(default)]
    pub flow: usize,
    /// Whether it is about the half against the path instead of along it.
    #[serde(default)]
    pub backward: bool,
    /// Begin of the span; the start without it.
    #[serde(default)]
    pub from_s: Option<Seconds>,
    /// End of the span; the end of the simulation without it.
    #[serde(default)]
    pub to_s: Option<Seconds>,
    /// The limitation.
    #[serde(deserialize_with = "limitation")]
    pub limitation: String,
    /// The cause, which refines the limitation.
    #[serde(default, deserialize_with = "cause")]
    pub cause: Option<String>,
    /// Causes or limitations that are as right, where the words leave a choice.
    #[serde(default, deserialize_with = "either")]
    pub accept: Vec<String>,
}

impl Expect {
    /// Whether the cause belongs to the limitation.
    pub fn is_consistent(&self) -> bool {
        let belongs = |cause: &String| cause.split('/').next() == Some(&self.limitation);
        self.cause.as_ref().is_none_or(belongs)
    }
}

fn one_of<E: Error>(word: String, words: &[&str]) -> Result<String, E> {
    if words.contains(&word.as_str()) {
        return Ok(word);
    }
    let list = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    Err(E::custom(format!("unknown word `{word}`, expected one of {list}")))
}

fn limitation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    one_of(String::deserialize(deserializer)?, Limitation::WORDS)
}

fn cause<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    one_of(String::deserialize(deserializer)?, Cause::WORDS).map(Some)
}

fn either<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let words: Vec<&str> = Cause::WORDS.iter().chain(Limitation::WORDS).copied().collect();
    let list = Vec::<String>::deserialize(deserializer)?;
    list.into_iter().map(|word| one_of(word, &words)).collect()
}
