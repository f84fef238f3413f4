//! How far a run is, for whoever watches it from another thread.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use tcpwhy_core::counter::Counters;
use tcpwhy_core::units::Nanos;

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the inputs as they are stored (compressed) that were read.
    pub bytes_read: u64,
    /// Bytes of all inputs; `None` with a pipe among them.
    pub bytes_total: Option<u64>,
    /// Frames that were read.
    pub packets: u64,
    /// Capture time of the last one; `None` before the first.
    pub last_ts: Option<Nanos>,
    /// Packets of a live link that the kernel dropped.
    pub kernel_drops: u64,
    /// Rows of a live link that nobody took in time.
    pub rows_dropped: u64,
}

/// What the workers of a live run last said about themselves.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Flows that are followed.
    pub flows: u64,
    /// What was counted so far.
    pub counters: Counters,
}

/// What the threads of a run share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    stop: AtomicBool,
    abandoned: AtomicBool,
    bytes_read: AtomicU64,
    bytes_total: AtomicU64,
    packets: AtomicU64,
    last_ts: AtomicI64,
    kernel_drops: AtomicU64,
    rows_dropped: AtomicU64,
    rows_waiting: AtomicU64,
    /// By worker.
    standing: Mutex<Vec<Standing>>,
}

/// Value of `bytes_total` when it is not known.
const UNKNOWN: u64 = u64::MAX;

impl Shared {
    pub fn new(bytes_total: Option<u64>) -> Shared {
        let bytes_total = AtomicU64::new(bytes_total.unwrap_or(UNKNOWN));
        Shared { bytes_total, ..Shared::default() }
    }

    pub fn progress(&self) -> Progress {
        let total = self.bytes_total.load(Relaxed);
        let packets = self.packets.load(Relaxed);
        Progress {
            bytes_read: self.bytes_read.load(Relaxed),
            bytes_total: (total != UNKNOWN).then_some(total),
            packets,
            last_ts: (packets > 0).then(|| Nanos(self.last_ts.load(Relaxed))),
            kernel_drops: self.kernel_drops.load(Relaxed),
            rows_dropped: self.rows_dropped.load(Relaxed),
        }
    }

    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Nobody takes rows any more.
    pub fn abandon(&self) {
        self.abandoned.store(true, Relaxed);
    }

    pub fn abandoned(&self) -> bool {
        self.abandoned.load(Relaxed)
    }

    pub fn add_bytes(&self, n: u64) {
        self.bytes_read.fetch_add(n, Relaxed);
    }

    /// Adds what one of several readers read.
    pub fn add_frames(&self, packets: u64, last_ts: Nanos) {
        self.last_ts.fetch_max(last_ts.0, Relaxed);
        self.packets.fetch_add(packets, Relaxed);
    }

    pub fn add_kernel_drops(&self, n: u64) {
        self.kernel_drops.fetch_add(n, Relaxed);
    }

    pub fn add_rows_dropped(&self, n: u64) {
        self.rows_dropped.fetch_add(n, Relaxed);
    }

    /// Makes room for rows that wait for who takes them, if no more than `most` then wait, or no
    /// others.
    pub fn add_rows_waiting(&self, n: u64, most: u64) -> bool {
        let waiting = self.rows_waiting.fetch_add(n, Relaxed) + n;
        let fits = waiting <= most || waiting == n;
        if !fits {
            self.take_rows_waiting(n);
        }
        fits
    }

    /// Rows were taken.
    pub fn take_rows_waiting(&self, n: u64) {
        self.rows_waiting.fetch_sub(n, Relaxed);
    }

    /// Notes what a worker says about itself.
    pub fn stand(&self, worker: usize, standing: Standing) {
        let mut all = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() <= worker {
            all.resize_with(worker + 1, Standing::default);
        }
        all[worker] = standing;
    }

    /// What all workers say together.
    pub fn standing(&self) -> Standing {
        let all = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sum = Standing::default();
        for one in all.iter() {
            sum.flows += one.flows;
            sum.counters.merge(&one.counters);
        }
        sum
    }

    pub fn set_frames(&self, packets: u64, last_ts: Nanos) {
        self.last_ts.store(last_ts.0, Relaxed);
        self.packets.store(packets, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_wait_up_to_a_bound_unless_they_are_alone() {
        let shared = Shared::new(None);
        assert!(shared.add_rows_waiting(60, 100));
        assert!(!shared.add_rows_waiting(41, 100), "101 would wait");
        assert!(shared.add_rows_waiting(40, 100));
        shared.take_rows_waiting(100);
        assert!(shared.add_rows_waiting(500, 100), "nobody is to wait for ever");
        assert!(!shared.add_rows_waiting(1, 100));
    }
}
