//! What happens to a frame before the analysis: counted, filtered, decoded.

use std::sync::Arc;

use tcpwhy_core::counter::{Counter, Counters};
use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::capture::Record;
use tcpwhy_core::wire::{Decoder, Frame, Segment, tunnel::Tunnels};

use crate::error::Error;
use crate::filter::Filter;

/// Turns records into segments, and counts what becomes of each.
pub(crate) struct Intake {
    decoder: Decoder,
    filter: Option<Filter>,
    counters: Counters,
    frames: u64,
    last_ts: Nanos,
}

impl Intake {
    pub fn new(filter: Option<Filter>) -> Intake {
        Intake {
            decoder: Decoder::new(),
            filter,
            counters: Counters::default(),
            frames: 0,
            last_ts: Nanos(i64::MIN),
        }
    }

    /// Writes the segment in a frame to `out`, and says whether there is one. An error means that
    /// no frame can be judged any more.
    #[inline(always)]
    pub fn take(&mut self, record: &Record, out: &mut Segment) -> Result<bool, Error> {
        self.frames += 1;
        if record.ts < self.last_ts {
            self.counters.count(Counter::TimeRegressions);
        }
        self.last_ts = record.ts;
        if self.filter.is_some() && !self.is_wanted(record)? {
            return Ok(false);
        }
        let &Record { ts, linktype, wire_len, bytes } = record;
        let frame = Frame { number: self.frames, ts, linktype, wire_len, bytes };
        match self.decoder.decode_into(&frame, out) {
            Ok(()) => Ok(true),
            Err(reason) => {
                self.counters.count(reason);
                Ok(false)
            }
        }
    }

    /// Whether a frame passes the filter.
    #[cold]
    fn is_wanted(&mut self, record: &Record) -> Result<bool, Error> {
        let wanted = match &mut self.filter {
            Some(filter) => filter.matches(record)?,
            None => true,
        };
        self.counters.add(Counter::PacketsFiltered, u64::from(!wanted));
        Ok(wanted)
    }

    /// Frames so far, and the time of the last one.
    pub fn frames(&self) -> (u64, Nanos) {
        (self.frames, self.last_ts)
    }

    /// The tunnels seen so far.
    pub fn tunnels(&self) -> &Tunnels {
        self.decoder.tunnels()
    }

    /// What was counted.
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters.clone();
        counters.add(Counter::PacketsRead, self.frames);
        counters.add(Counter::TunnelOverflow, self.tunnels().overflow());
        counters
    }
}

/// Names of tunnels that a pipeline has not yet been told.
#[derive(Default)]
pub(crate) struct TunnelNames {
    told: u16,
    told_others: bool,
}

impl TunnelNames {
    /// The tunnels seen since the last call, with their names.
    #[inline]
    pub fn news(&mut self, tunnels: &Tunnels) -> Vec<(u16, Arc<str>)> {
        let count = tunnels.len() as u16;
        let overflowed = tunnels.overflow() > 0;
        if count == self.told && overflowed == self.told_others {
            return Vec::new();
        }
        let others = (overflowed && !self.told_others).then_some(Tunnels::OTHERS);
        let indices = (self.told + 1..=count).chain(others);
        let news = indices.filter_map(|index| Some((index, tunnels.name(index)?.into()))).collect();
        (self.told, self.told_others) = (count, overflowed);
        news
    }
}
