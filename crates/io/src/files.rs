//! Inputs as one stream of frames in the order of time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tcpwhy_core::counter::{Counter, Counters};
use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::Frame;
use tcpwhy_core::wire::capture::Record;

use crate::error::Error;
use crate::input::{Input, STDIN};
use crate::progress::Shared;
use crate::sources::Sources;

/// Calls `each` with every frame of these inputs in the order of time, without any analysis. Gives
/// what the files say about themselves, and an error for every input that could not be read to its
/// end.
pub fn read_frames(paths: &[PathBuf], mut each: impl FnMut(&Frame)) -> (Counters, Vec<Error>) {
    let mut inputs = Inputs::open(paths, Arc::new(Shared::new(None)));
    let mut number = 0;
    let mut frame = |record: &Record| {
        number += 1;
        let &Record { ts, linktype, wire_len, bytes } = record;
        each(&Frame { number, ts, linktype, wire_len, bytes });
    };
    while inputs.read(&mut frame) {}
    inputs.counters.add(Counter::PacketsRead, number);
    (inputs.counters, inputs.errors)
}

/// Several inputs, merged. A file is opened when its first frame is due and closed at its end.
pub(crate) struct Inputs {
    /// Inputs that have frames left, by the time of their next frame.
    queue: Vec<Queued>,
    shared: Arc<Shared>,
    /// Which input showed which frame.
    pub sources: Arc<Sources>,
    /// The number of the frame that is read next.
    pub next_frame: u64,
    /// The input that was read last, by its rank.
    last_read: Option<usize>,
    /// What went wrong with inputs, in the order in which it was found.
    pub errors: Vec<Error>,
    /// What the files say about themselves.
    pub counters: Counters,
}

struct Queued {
    /// Time of its next frame.
    due: Nanos,
    /// Place among the inputs ordered by their first frame; it decides between equal times.
    rank: usize,
    path: PathBuf,
    /// How far its clock is ahead.
    ahead: Nanos,
    input: Option<Box<Input>>,
    linktype: Option<u16>,
}

impl Inputs {
    /// Looks at the first frame of every input. What cannot be opened is an error of its own and
    /// the others are read.
    pub fn open(paths: &[PathBuf], shared: Arc<Shared>) -> Inputs {
        Inputs::open_ahead(paths, &[], shared)
    }

    /// The same for inputs whose clocks are ahead by so much, each in its place; 0 beyond the last.
    pub fn open_ahead(paths: &[PathBuf], ahead: &[Nanos], shared: Arc<Shared>) -> Inputs {
        let clocks = ahead.iter().copied().chain(std::iter::repeat(Nanos(0)));
        let mut inputs = Inputs {
            queue: Vec::new(),
            shared,
            sources: Arc::default(),
            next_frame: 1,
            last_read: None,
            errors: Vec::new(),
            counters: Counters::default(),
        };
        if let [pipe] = paths
            && !is_file(pipe)
        {
            // Nothing to merge with, and it may have nothing to say for long.
            let ahead = ahead.first().copied().unwrap_or(Nanos(0));
            inputs.queue.push(Queued { ahead, ..Queued::unseen(pipe) });
            return inputs;
        }
        for (path, ahead) in paths.iter().zip(clocks) {
            match inputs.look(path, ahead) {
                Ok(Some(queued)) => inputs.queue.push(queued),
                Ok(None) => {}
                Err(error) => inputs.errors.push(error),
            }
        }
        inputs.queue.sort_by_key(|queued| queued.due);
        for (rank, queued) in inputs.queue.iter_mut().enumerate() {
            queued.rank = rank;
        }
        if let [only] = inputs.queue.as_mut_slice() {
            // Nothing to merge with: no frame of it ever waits.
            only.due = Nanos(i64::MIN);
        }
        inputs
    }

    /// Whether all of them are files, which have an end.
    pub fn are_files(&self) -> bool {
        self.queue.iter().all(|queued| is_file(&queued.path))
    }

    /// Link types of the first frames.
    pub fn linktypes(&self) -> impl Iterator<Item = u16> + '_ {
        self.queue.iter().filter_map(|queued| queued.linktype)
    }

    /// Calls `each` with some of the next frames. Gives false at the end.
    pub fn read(&mut self, each: impl FnMut(&Record)) -> bool {
        let Some(first) = (0..self.queue.len()).min_by_key(|&i| self.queue[i].order()) else {
            return false;
        };
        let others = self.queue.iter().enumerate().filter(|&(i, _)| i != first);
        let next = others.map(|(_, queued)| queued.order()).min();
        let queued = &mut self.queue[first];
        let limit = match next {
            None => Nanos::MAX,
            Some((due, rank)) if queued.rank < rank => due,
            Some((due, _)) => Nanos(due.0.saturating_sub(1)),
        };
        if self.last_read.replace(queued.rank) != Some(queued.rank) {
            self.sources.change(self.next_frame, &queued.path.to_string_lossy());
        }
        match queued.read(limit, &self.shared, each) {
            Ok(true) => {}
            Ok(false) => self.close(first),
            Err(error) => {
                // A run that is to stop cuts pipes short; that is no damage.
                if !self.shared.stopped() {
                    self.errors.push(error);
                }
                self.close(first);
            }
        }
        !self.queue.is_empty()
    }

    fn close(&mut self, index: usize) {
        let queued = self.queue.remove(index);
        if let Some(input) = queued.input
            && let Err(error) = input.finish(&mut self.counters)
        {
            self.errors.push(error);
        }
    }

    /// Opens an input and reads its first frame. A file is closed again: there may be more of them
    /// than a process can hold open. `None` when it has no frame.
    fn look(&mut self, path: &Path, ahead: Nanos) -> Result<Option<Queued>, Error> {
        let reopens = is_file(path);
        let looking = if reopens { Arc::default() } else { self.shared.clone() };
        let mut input = Input::open(path, ahead, &looking)?;
        let Some(due) = input.peek()? else {
            input.finish(&mut self.counters)?;
            return Ok(None);
        };
        let linktype = input.waiting_linktype();
        let input = (!reopens).then(|| Box::new(input));
        Ok(Some(Queued { due, rank: 0, path: path.to_owned(), ahead, input, linktype }))
    }
}

fn is_file(path: &Path) -> bool {
    path.as_os_str() != STDIN && path.is_file()
}

impl Queued {
    fn unseen(path: &Path) -> Queued {
        let path = path.to_owned();
        let (due, ahead) = (Nanos(i64::MIN), Nanos(0));
        Queued { due, rank: 0, path, ahead, input: None, linktype: None }
    }

    fn order(&self) -> (Nanos, usize) {
        (self.due, self.rank)
    }

    /// Reads frames up to `limit`; afterwards `due` is the time of the next one.
    fn read(
        &mut self,
        limit: Nanos,
        shared: &Arc<Shared>,
        each: impl FnMut(&Record),
    ) -> Result<bool, Error> {
        let input = match &mut self.input {
            Some(input) => input,
            closed => closed.insert(Box::new(Input::open(&self.path, self.ahead, shared)?)),
        };
        let more = input.read(limit, each)?;
        if more && limit < Nanos::MAX {
            match input.peek()? {
                Some(due) => self.due = due,
                None => return Ok(false),
            }
        }
        Ok(more)
    }
}
