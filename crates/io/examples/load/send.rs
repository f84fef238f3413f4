//! A packet socket that sends many frames with one call.

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, MultiHeaders, SockFlag, SockType, bind, sendmmsg, socket,
};
use std::fmt::{self, Display};
use std::io::IoSlice;
use std::os::fd::{AsRawFd, OwnedFd};

/// Sends frames in the order in which they were filled in.
pub struct Sender {
    socket: OwnedFd,
    headers: MultiHeaders<LinkAddr>,
    frames: Vec<Vec<u8>>,
    filled: usize,
    sent: u64,
    bytes: u64,
}

/// What was sent.
pub struct Sent {
    frames: u64,
    bytes: u64,
    seconds: f64,
    speed: f64,
}

impl Sender {
    /// Opens an interface of this network namespace.
    pub fn open(interface: &str) -> Result<Sender, String> {
        let failed = |error: Errno| format!("{interface}: {error}");
        let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)
            .map_err(failed)?;
        let address = getifaddrs()
            .map_err(failed)?
            .filter(|found| found.interface_name == interface)
            .find_map(|found| found.address?.as_link_addr().copied())
            .ok_or_else(|| format!("{interface}: no such interface"))?;
        bind(socket.as_raw_fd(), &address).map_err(failed)?;
        Ok(Sender {
            socket,
            headers: MultiHeaders::preallocate(BATCH, None),
            frames: std::iter::repeat_with(Vec::new).take(BATCH).collect(),
            filled: 0,
            sent: 0,
            bytes: 0,
        })
    }

    /// Where the next frame goes; it is empty.
    pub fn space(&mut self) -> Result<&mut Vec<u8>, String> {
        if self.filled == BATCH {
            self.flush()?;
        }
        self.filled += 1;
        let space = &mut self.frames[self.filled - 1];
        space.clear();
        Ok(space)
    }

    /// Sends what was filled in.
    pub fn flush(&mut self) -> Result<(), String> {
        let frames = &self.frames[..std::mem::take(&mut self.filled)];
        let slices: Vec<[IoSlice; 1]> = frames.iter().map(|frame| [IoSlice::new(frame)]).collect();
        let mut rest = slices.as_slice();
        while !rest.is_empty() {
            let to = vec![None; rest.len()];
            let (fd, flags) = (self.socket.as_raw_fd(), MsgFlags::empty());
            let sent = sendmmsg(fd, &mut self.headers, rest, to, [], flags).map(Iterator::count);
            match sent {
                Ok(sent) => rest = &rest[sent..],
                Err(Errno::ENOBUFS | Errno::EAGAIN | Errno::EINTR) => std::thread::yield_now(),
                Err(error) => return Err(format!("sending: {error}")),
            }
        }
        self.sent += frames.len() as u64;
        self.bytes += frames.iter().map(|frame| frame.len() as u64).sum::<u64>();
        Ok(())
    }

    /// Frames sent so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends the rest, and says what was sent in so many seconds.
    pub fn finish(&mut self, seconds: f64, speed: f64) -> Result<Sent, String> {
        self.flush()?;
        Ok(Sent { frames: self.sent, bytes: self.bytes, seconds, speed })
    }
}

impl Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let &Sent { frames, bytes, seconds, speed } = self;
        write!(
            f,
            "{{\"frames\": {frames}, \"bytes\": {bytes}, \"seconds\": {seconds:.3}, \
             \"speed\": {speed:.3}}}"
        )
    }
}

/// Frames sent with one call.
pub const BATCH: usize = 64;
