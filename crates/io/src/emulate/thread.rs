//! The thread that carries frames between the TAP interfaces and the network, in real time.

use std::fs::File;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use tcpwhy_core::units::Nanos;

use super::lateness::Lateness;
use super::network::{Departure, Network};
use super::{Shared, Totals, offload};
use crate::sys::realtime;

/// What the thread has in hand.
pub struct Carrier {
    /// The interfaces, in the order of the hosts.
    pub taps: Vec<File>,
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
}

impl Carrier {
    /// Carries frames until it is told to stop.
    pub fn run(mut self) -> (Network, Totals) {
        let mut totals = Totals { is_real_time: realtime::be_punctual(), ..Totals::default() };
        let mut ready = Vec::new();
        let mut buffer = vec![0; FRAME_BYTES_MAX];
        while !self.shared.is_stopped() {
            self.release(&mut totals);
            self.hand_over_capture(HAND_OVER_BYTES);
            let timeout = match self.network.next() {
                Some(next) => (next - self.now()).since(Nanos(0)).min(IDLE),
                None => IDLE,
            };
            let fds: Vec<BorrowedFd> = self.taps.iter().map(AsFd::as_fd).collect();
            if let Err(error) = realtime::wait(&fds, timeout, &mut ready) {
                totals.failure = Some(error.to_string());
                break;
            }
            for &host in &ready {
                self.accept(host, &mut buffer, &mut totals);
            }
        }
        self.network.advance(self.now());
        self.hand_over_capture(0);
        (self.network, totals)
    }

    fn now(&self) -> Nanos {
        realtime::monotonic() - self.start
    }

    /// Takes frames that wait at an interface, but not so many that others would be late.
    fn accept(&mut self, host: usize, buffer: &mut [u8], totals: &mut Totals) {
        for _ in 0..FRAMES_AT_ONCE {
            match (&self.taps[host]).read(buffer) {
                Ok(length) => {
                    let now = self.now();
                    if !self.offload {
                        self.network.push(now, buffer[..length].into(), None);
                    } else if !offload::split(&buffer[..length], |bytes, checksum| {
                        self.network.push(now, bytes, checksum);
                    }) {
                        totals.unsplit += 1;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    totals.read_errors += 1;
                    return;
                }
            }
        }
    }

    /// Gives hosts the frames that are due.
    fn release(&mut self, totals: &mut Totals) {
        let now = self.now();
        self.network.advance(now);
        while let Some(departure) = self.network.take_departure() {
            totals.lateness.note(self.now() - departure.due);
            // A frame that the kernel does not take is lost, as on a real link; it is counted.
            if self.write(&departure).is_err() {
                totals.refused += 1;
            }
        }
        self.shared.note_lateness(&totals.lateness);
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

/// How often a thread without work looks whether it should stop.
const IDLE: Nanos = Nanos::from_millis(50);
const FRAMES_AT_ONCE: usize = 64;
/// More than the largest super-packet with its headers.
const FRAME_BYTES_MAX: usize = 66_000;
const HAND_OVER_BYTES: usize = 1 << 18;
