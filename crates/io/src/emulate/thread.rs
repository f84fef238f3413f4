//! The threads that carry frames between the TAP interfaces and the network, in real time.
//!
//! There is work for one. But a processor that is busy inside the kernel runs no thread meanwhile,
//! for tens of milliseconds on a machine that compiles. A thread that was woken there is not moved.
//! So one waits on each of two processors, all for the same moment. Whoever comes first does the
//! work, and the other finds nothing left to do.

use std::fs::File;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::scenario::Scenario;

use super::lateness::Lateness;
use super::log::Log;
use super::network::{Departure, Network};
use super::{Shared, Totals, offload};
use crate::sys::realtime;

/// What the thread has in hand.
pub struct Carrier {
    /// The interfaces, in the order of the hosts.
    pub taps: Vec<File>,
    /// What says which links there are.
    pub scenario: Scenario,
    /// What makes all randomness.
    pub seed: u64,
    /// The links between them.
    pub network: Network,
    /// When time 0 was, on the monotonic clock.
    pub start: Nanos,
    /// Whether the interfaces hand over and take frames behind a `virtio_net_hdr`.
    pub offload: bool,
    /// What other threads see and say.
    pub shared: Arc<Shared>,
    /// Where the capture in the middle goes.
    pub middle: Option<Sender<Vec<u8>>>,
    /// What was counted so far.
    pub totals: Totals,
}

/// The threads at work.
pub struct Threads {
    carrier: Arc<Mutex<Carrier>>,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts to carry frames, until `shared` says that it is over.
    pub fn start(carrier: Carrier) -> std::io::Result<Threads> {
        let processors = realtime::processors();
        let shared = carrier.shared.clone();
        let taps = carrier.taps.iter().map(|tap| realtime::duplicate(tap.as_raw_fd()));
        let taps: Vec<OwnedFd> = taps.collect::<Result<_, _>>()?;
        let (taps, carrier) = (Arc::new(taps), Arc::new(Mutex::new(carrier)));
        let mut handles = Vec::new();
        for &processor in processors.iter().take(THREADS) {
            let (taps, carrier, shared) = (taps.clone(), carrier.clone(), shared.clone());
            let pinned = (processors.len() > 1).then_some(processor);
            let thread = std::thread::Builder::new().name("tcpwhy-emulator".to_owned());
            handles.push(thread.spawn(move || carry(&carrier, &taps, &shared, pinned))?);
        }
        Ok(Threads { carrier, handles })
    }

    /// Awaits the end; `None` when a thread failed.
    pub fn join(self) -> Option<(Network, Totals)> {
        for handle in self.handles {
            handle.join().ok()?;
        }
        let mut carrier = Arc::into_inner(self.carrier)?.into_inner().ok()?;
        carrier.network.advance(carrier.now());
        carrier.hand_over_capture(0);
        Some((carrier.network, carrier.totals))
    }
}

fn carry(carrier: &Mutex<Carrier>, taps: &[OwnedFd], shared: &Shared, pinned: Option<usize>) {
    pinned.into_iter().for_each(realtime::stay_on);
    let is_real_time = realtime::be_punctual();
    let fds: Vec<BorrowedFd> = taps.iter().map(AsFd::as_fd).collect();
    let mut ready = Vec::new();
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    while !shared.is_stopped() {
        // A thread that panicked has ended the run; its failure is told when it is joined.
        let Ok(mut at_work) = carrier.lock() else { return };
        at_work.totals.is_real_time |= is_real_time;
        at_work.begin_if_due();
        for host in ready.drain(..) {
            at_work.accept(host, &mut buffer);
        }
        at_work.release();
        at_work.hand_over_capture(HAND_OVER_BYTES);
        let timeout = match at_work.network.next() {
            Some(next) => (next - at_work.now()).since(Nanos(0)).min(IDLE),
            None => IDLE,
        };
        drop(at_work);
        if let Err(error) = realtime::wait(&fds, timeout, &mut ready) {
            shared.stopped.store(true, Ordering::Relaxed);
            if let Ok(mut at_work) = carrier.lock() {
                at_work.totals.failure = Some(error.to_string());
            }
            return;
        }
    }
}

impl Carrier {
    fn now(&self) -> Nanos {
        realtime::monotonic() - self.start
    }

    /// Begins anew at the time that was asked for, once it has come.
    fn begin_if_due(&mut self) {
        let begin = Nanos(self.shared.begin.load(Ordering::Relaxed));
        let now = realtime::monotonic();
        if begin == Nanos(0) || now < begin {
            return;
        }
        self.shared.begin.store(0, Ordering::Relaxed);
        self.hand_over_capture(0);
        let epoch = realtime::wall() - now.since(begin);
        let middle = self.network.middle().map(|middle| middle.since(epoch));
        self.network = Network::new(&self.scenario, self.seed, Log::new(epoch), middle);
        self.start = begin;
        self.totals.lateness = Lateness::default();
    }

    /// Takes frames that wait at an interface, but not so many that others would be late.
    fn accept(&mut self, host: usize, buffer: &mut [u8]) {
        for _ in 0..FRAMES_AT_ONCE {
            match (&self.taps[host]).read(buffer) {
                Ok(length) => {
                    let now = self.now();
                    if !self.offload {
                        self.network.push(now, buffer[..length].into(), None);
                    } else if !offload::split(&buffer[..length], |bytes, checksum| {
                        self.network.push(now, bytes, checksum);
                    }) {
                        self.totals.unsplit += 1;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.totals.read_errors += 1;
                    return;
                }
            }
        }
    }

    /// Gives hosts the frames that are due.
    fn release(&mut self) {
        let now = self.now();
        self.network.advance(now);
        while let Some(departure) = self.network.take_departure() {
            let late = self.now() - departure.due;
            self.totals.lateness.note(late);
            // A frame that the kernel does not take is lost, as on a real link; it is counted.
            if self.write(&departure).is_err() {
                self.totals.refused += 1;
            }
        }
        self.shared.note_lateness(&self.totals.lateness);
    }

    fn write(&self, departure: &Departure) -> std::io::Result<()> {
        let mut tap = &self.taps[departure.host];
        if !self.offload {
            return tap.write_all(&departure.bytes);
        }
        let header = offload::header(departure.checksum);
        // An interface takes a frame whole or not at all.
        tap.write_vectored(&[IoSlice::new(&header), IoSlice::new(&departure.bytes)]).map(|_| ())
    }

    fn hand_over_capture(&mut self, least: usize) {
        let Some(middle) = self.network.middle() else { return };
        if middle.waiting() > least
            && let Some(sender) = &self.middle
        {
            // The writer is gone only when the disk failed; it says so when it is asked.
            let _ = sender.send(middle.take());
        }
    }
}

impl Shared {
    fn note_lateness(&self, lateness: &Lateness) {
        self.delivered.store(lateness.total(), std::sync::atomic::Ordering::Relaxed);
    }
}

/// One that the kernel keeps from running is covered by the other; a third would cost more than it
/// brings.
const THREADS: usize = 2;
/// How often a thread without work looks whether it should stop.
const IDLE: Nanos = Nanos::from_millis(50);
const FRAMES_AT_ONCE: usize = 64;
/// More than the largest super-packet with its headers.
const FRAME_BYTES_MAX: usize = 66_000;
const HAND_OVER_BYTES: usize = 1 << 18;
