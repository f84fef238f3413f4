//! One worker: everything in the thread that asks for batches, without a channel.

use std::collections::VecDeque;

use tcpwhy_core::pipeline::{Options, Pipeline};

use super::{Item, Reader};
use crate::intake::TunnelNames;

pub(super) struct Inline {
    /// `None` once everything was read.
    reader: Option<Reader>,
    pipeline: Pipeline,
    tunnels: TunnelNames,
    ready: VecDeque<Item>,
}

impl Inline {
    pub fn new(reader: Reader, options: Options) -> Inline {
        Inline {
            reader: Some(reader),
            pipeline: Pipeline::new(options),
            tunnels: TunnelNames::default(),
            ready: VecDeque::new(),
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
