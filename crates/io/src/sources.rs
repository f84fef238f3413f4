//! Which input showed which frame.

use arrow_array::StringArray;
use std::sync::{Mutex, PoisonError};

/// The inputs of a run, and where in the stream of frames one follows another.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// The inputs that were read, in the order in which frames of them came first.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    names: Vec<String>,
    /// The first frame after each change, and the input that it is from.
    changes: Vec<(u64, usize)>,
    /// The first frame of which this is not known any more.
    unknown_from: Option<u64>,
}

impl Sources {
    /// One input that shows everything.
    pub fn only(name: &str) -> Sources {
        let sources = Sources::default();
        sources.change(1, name);
        sources
    }

    /// Frames from this one on are from another input than those before.
    pub fn change(&self, frame: u64, name: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.changes.len() >= MOST_CHANGES {
            state.unknown_from.get_or_insert(frame);
            return;
        }
        let known = state.names.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            state.names.push(name.to_owned());
            state.names.len() - 1
        });
        state.changes.push((frame, index));
    }

    /// The inputs that showed these frames.
    pub fn of(&self, frames: &[u64]) -> StringArray {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let of_frame = |&frame: &u64| {
            if state.unknown_from.is_some_and(|unknown| frame >= unknown) {
                return None;
            }
            let after = state.changes.partition_point(|&(first, _)| first <= frame);
            let (_, index) = state.changes.get(after.checked_sub(1)?)?;
            state.names.get(*index).map(String::as_str)
        };
        frames.iter().map(of_frame).collect()
    }
}

/// Changes that are remembered: two captures of the same minute may take turns at every packet.
const MOST_CHANGES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;

    #[test]
    fn a_frame_is_of_the_input_that_was_read_then() {
        let sources = Sources::only("a");
        sources.change(10, "b");
        sources.change(12, "a");
        let names = sources.of(&[1, 9, 10, 11, 12, 99]);
        assert_eq!(names, StringArray::from(vec!["a", "a", "b", "b", "a", "a"]));
        assert!(Sources::default().of(&[1]).is_null(0));
    }

    #[test]
    fn beyond_the_bound_the_input_is_unknown() {
        let sources = Sources::default();
        (0..MOST_CHANGES as u64 + 2).for_each(|at| sources.change(at, ["a", "b"][at as usize % 2]));
        let last = MOST_CHANGES as u64;
        assert_eq!(sources.of(&[last - 1, last]), StringArray::from(vec![Some("b"), None]));
    }
}
