//! Clocks, waiting and scheduling, as the emulator needs them.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use tcpwhy_core::units::Nanos;

/// The monotonic clock.
pub(crate) fn monotonic() -> Nanos {
    clock(libc::CLOCK_MONOTONIC)
}

/// The time since the Unix epoch.
pub(crate) fn wall() -> Nanos {
    clock(libc::CLOCK_REALTIME)
}

fn clock(id: libc::clockid_t) -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing, and both clocks exist on every Linux.
    unsafe { libc::clock_gettime(id, &mut time) };
    Nanos(time.tv_sec * Nanos::SECOND.0 + time.tv_nsec)
}

/// Waits until one of the descriptors can be read or the time has passed; says which can.
pub(crate) fn wait(fds: &[BorrowedFd], timeout: Nanos, ready: &mut Vec<usize>) -> io::Result<()> {
    ready.clear();
    let entry =
        |fd: &BorrowedFd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut entries: Vec<libc::pollfd> = fds.iter().map(entry).collect();
    let left = timeout.0.max(0);
    let timeout =
        libc::timespec { tv_sec: left / Nanos::SECOND.0, tv_nsec: left % Nanos::SECOND.0 };
    // SAFETY: `entries` and `timeout` are valid for the call; no signal mask is given.
    let count = unsafe {
        libc::ppoll(entries.as_mut_ptr(), entries.len() as _, &timeout, std::ptr::null())
    };
    if count < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
    }
    ready.extend((0..entries.len()).filter(|&i| entries[i].revents != 0));
    Ok(())
}

/// Another descriptor of the same open file; an error for a number that is none.
pub(crate) fn duplicate(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl takes any number and refuses what is no descriptor; what it gives is a new one
    // that nobody else owns.
    unsafe {
        let copy = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0);
        if copy < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(std::os::fd::FromRawFd::from_raw_fd(copy))
    }
}

/// Asks for exact timers and real-time scheduling for this thread. Says whether the latter was
/// granted (it needs CAP_SYS_NICE).
pub(crate) fn be_punctual() -> bool {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: PR_SET_TIMERSLACK takes an integer; the parameters are valid for the call; thread 0
    // is the calling one.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0);
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) == 0
    }
}

/// The processors that this process may use, by number.
pub(crate) fn processors() -> Vec<usize> {
    // SAFETY: all zeros is an empty set, and the call writes within the size it is given.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        set
    };
    // SAFETY: every number below CPU_SETSIZE has its bit in a set.
    (0..libc::CPU_SETSIZE as usize).filter(|&i| unsafe { libc::CPU_ISSET(i, &set) }).collect()
}

/// Keeps this thread on one processor; where that is not allowed, it stays where it may be.
pub(crate) fn stay_on(processor: usize) {
    // SAFETY: all zeros is an empty set, the number is one that `processors` gave, and the call
    // reads within the size it is given.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// Above ordinary real-time threads of applications, below those of the kernel (50).
const PRIORITY: i32 = 20;
