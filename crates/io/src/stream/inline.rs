//! One worker: everything in the thread that asks for batches, without a channel.

use std::collections::VecDeque;

use tcpwhy_core::pipeline::{Options, Pipeline};

use super::{Item, Numbers, Reader, lock};
use crate::intake::TunnelNames;

pub(super) struct Inline {
    /// `None` once everything was read.
    reader: Option<Reader>,
    pipeline: Pipeline,
    tunnels: TunnelNames,
    ready: VecDeque<Item>,
    numbers: Option<Numbers>,
}

impl Inline {
    pub fn new(reader: Reader, options: Options, numbers: Option<Numbers>) -> Inline {
        let pipeline = Pipeline::new(options);
        Inline {
            reader: Some(reader),
            pipeline: if numbers.is_some() { pipeline.numbering() } else { pipeline },
            tunnels: TunnelNames::default(),
            ready: VecDeque::new(),
            numbers,
        }
    }

    pub fn next(&mut self) -> Option<Item> {
        while self.ready.is_empty() {
            let mut reader = self.reader.take()?;
            let (pipeline, tunnels) = (&mut self.pipeline, &mut self.tunnels);
            let more = reader.step(|segments, intake, _| {
                for (index, name) in tunnels.news(intake.tunnels()) {
                    pipeline.define_tunnel(index, name);
                }
                pipeline.push(segments);
                true
            });
            if let Some((numbers, openings)) = self.numbers.as_ref().zip(self.pipeline.openings()) {
                let mut numbers = lock(numbers);
                numbers.take(openings, reader.intake.frames().0);
                if !more {
                    numbers.end();
                }
            }
            if more || self.pipeline.finish() {
                self.ready.extend(self.pipeline.take(false).into_iter().map(Ok));
                self.reader = Some(reader);
            } else {
                self.ready.extend(self.pipeline.take(true).into_iter().map(Ok));
                self.ready.extend(reader.closing(self.pipeline.counters()));
            }
        }
        self.ready.pop_front()
    }
}
