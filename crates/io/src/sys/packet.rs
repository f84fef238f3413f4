//! Packet sockets and the ring that they share with the kernel: packet(7), TPACKET_V3.

use std::ffi::{CString, c_int};
use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use tcpwhy_core::wire::bpf::Instruction;

/// A packet socket, which sees nothing until it is bound.
pub(crate) struct PacketSocket {
    fd: OwnedFd,
}

/// An interface as the kernel knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    /// Its number.
    pub index: c_int,
    /// ARPHRD value.
    pub hardware: u16,
}

impl PacketSocket {
    /// Opens a socket; it takes CAP_NET_RAW.
    pub fn open() -> io::Result<PacketSocket> {
        // SAFETY: no pointer is passed; the descriptor is owned by nobody else.
        let fd = unsafe {
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
            OwnedFd::from_raw_fd(check(fd)?)
        };
        Ok(PacketSocket { fd })
    }

    /// Looks an interface up by its name, in the network namespace of the socket.
    pub fn interface(&self, name: &str) -> io::Result<Interface> {
        let mut request = named(name)?;
        let fd = self.fd.as_raw_fd();
        // SAFETY: both requests read a name that ends with a zero byte and fill the union's member
        // that is read afterwards.
        unsafe {
            check(libc::ioctl(fd, libc::SIOCGIFINDEX as _, &mut request))?;
            let index = request.ifr_ifru.ifru_ifindex;
            check(libc::ioctl(fd, libc::SIOCGIFHWADDR as _, &mut request))?;
            Ok(Interface { index, hardware: request.ifr_ifru.ifru_hwaddr.sa_family })
        }
    }

    /// Begins to receive the packets of an interface.
    pub fn bind(&self, interface: Interface) -> io::Result<()> {
        // SAFETY: all-zero is a valid sockaddr_ll, and the length is its own.
        unsafe {
            let mut address: libc::sockaddr_ll = zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
            address.sll_ifindex = interface.index;
            let len = size_of_val(&address) as u32;
            check(libc::bind(self.fd.as_raw_fd(), (&raw const address).cast(), len)).map(drop)
        }
    }

    /// Sets an option of the packet level.
    pub fn set(&self, option: c_int, value: c_int) -> io::Result<()> {
        self.set_to(libc::SOL_PACKET, option, &value)
    }

    /// Has the kernel note the time of a packet where it enters, once for all who capture it.
    pub fn stamp_early(&self) -> io::Result<()> {
        self.set_to(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)
    }

    /// Has the card take the time of every packet that it receives (SIOCSHWTSTAMP of
    /// Documentation/networking/timestamping.rst), and the kernel hand these over; for others it
    /// gives its own. This is a state of the card, for all who use it.
    pub fn stamp_in_hardware(&self, name: &str) -> io::Result<()> {
        let mut config = HardwareTimes { flags: 0, tx_type: 0, rx_filter: FILTER_ALL };
        let mut request = named(name)?;
        request.ifr_ifru.ifru_data = (&raw mut config).cast();
        // SAFETY: the request has a name that ends with a zero byte. It points to the struct that
        // it is documented to read and write, which outlives the call.
        unsafe {
            let fd = self.fd.as_raw_fd();
            check(libc::ioctl(fd, libc::SIOCSHWTSTAMP as _, &mut request))?;
        }
        if config.rx_filter != FILTER_ALL {
            // The driver does less than was asked for.
            return Err(io::Error::from_raw_os_error(libc::ERANGE));
        }
        self.set(libc::PACKET_TIMESTAMP, libc::SOF_TIMESTAMPING_RAW_HARDWARE as c_int)
    }

    /// Sees packets to whomever, as long as the socket is open.
    pub fn promiscuous(&self, interface: Interface) -> io::Result<()> {
        let request = libc::packet_mreq {
            mr_ifindex: interface.index,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set_to(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
    }

    /// Has the kernel run a program on every packet, for the bytes to keep of it; it replaces the
    /// one before.
    pub fn filter(&self, program: &[Instruction]) -> io::Result<()> {
        self.program(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program)
    }

    /// Has the kernel run a program for the member of the fan-out group that gets a packet.
    pub fn fanout_program(&self, program: &[Instruction]) -> io::Result<()> {
        self.program(libc::SOL_PACKET, libc::PACKET_FANOUT_DATA, program)
    }

    /// The number of the fan-out group.
    pub fn fanout_group(&self) -> io::Result<u16> {
        let value: c_int = self.read(libc::PACKET_FANOUT)?;
        Ok(value as u16)
    }

    /// Packets that the kernel dropped since the last call.
    pub fn drops(&self) -> io::Result<u64> {
        let stats: libc::tpacket_stats_v3 = self.read(libc::PACKET_STATISTICS)?;
        Ok(u64::from(stats.tp_drops))
    }

    /// The error that waits on the socket, if any; it is taken off.
    pub fn take_error(&self) -> Option<io::Error> {
        let mut value: c_int = 0;
        let mut len = size_of::<c_int>() as u32;
        // SAFETY: the value and its length are as the option wants them.
        let status = unsafe {
            let value = (&raw mut value).cast();
            libc::getsockopt(self.fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, value, &mut len)
        };
        (status == 0 && value != 0).then(|| io::Error::from_raw_os_error(value))
    }

    fn program(&self, level: c_int, option: c_int, program: &[Instruction]) -> io::Result<()> {
        let len = u16::try_from(program.len());
        let len = len.map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        // The layout of an instruction is that of `struct sock_filter`; the kernel only reads.
        let program = libc::sock_fprog { len, filter: program.as_ptr().cast_mut().cast() };
        self.set_to(level, option, &program)
    }

    fn set_to<T: Copy>(&self, level: c_int, option: c_int, value: &T) -> io::Result<()> {
        let len = size_of::<T>() as u32;
        // SAFETY: the kernel reads `len` bytes, which are those of a plain value.
        let status = unsafe {
            let value = std::ptr::from_ref(value).cast();
            libc::setsockopt(self.fd.as_raw_fd(), level, option, value, len)
        };
        check(status).map(drop)
    }

    /// Reads an option of the packet level. `T` is a struct of integers.
    fn read<T: Copy>(&self, option: c_int) -> io::Result<T> {
        let mut len = size_of::<T>() as u32;
        // SAFETY: all-zero is a valid value of a struct of integers, of which the kernel writes no
        // more than `len` bytes.
        unsafe {
            let mut value: T = zeroed();
            let to = (&raw mut value).cast();
            let fd = self.fd.as_raw_fd();
            check(libc::getsockopt(fd, libc::SOL_PACKET, option, to, &mut len))?;
            Ok(value)
        }
    }
}

/// The memory in which the kernel leaves packets, as blocks that change hands.
pub(crate) struct Ring {
    socket: PacketSocket,
    memory: NonNull<u8>,
    block_len: usize,
    blocks: usize,
    next: usize,
}

// SAFETY: the memory belongs to the ring alone, wherever it goes.
unsafe impl Send for Ring {}

impl Ring {
    /// Gives the socket a ring of `blocks` blocks of `block_len` bytes. The kernel hands a block
    /// over when it is full, or `retire_ms` after its first packet.
    pub fn new(
        socket: PacketSocket,
        block_len: usize,
        blocks: usize,
        retire_ms: u32,
    ) -> io::Result<Ring> {
        const FRAME_LEN: usize = 2048;
        socket.set(libc::PACKET_VERSION, TPACKET_V3)?;
        let request = libc::tpacket_req3 {
            tp_block_size: block_len as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: FRAME_LEN as u32,
            tp_frame_nr: (block_len / FRAME_LEN * blocks) as u32,
            tp_retire_blk_tov: retire_ms,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        socket.set_to(libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let fd = socket.fd.as_raw_fd();
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory = unsafe {
            let len = block_len * blocks;
            libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, fd, 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).expect("a mapping has an address");
        Ok(Ring { socket, memory, block_len, blocks, next: 0 })
    }

    /// The socket that it belongs to.
    pub fn socket(&self) -> &PacketSocket {
        &self.socket
    }

    /// The next block, if the kernel has handed it over; it goes back with [`Ring::release`].
    pub fn block(&self) -> Option<&[u8]> {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the block lies in the mapping, and the kernel leaves it alone until its status
        // says otherwise, which takes `release`, which takes `&mut self`.
        Some(unsafe {
            std::slice::from_raw_parts(self.start().as_ptr().cast_const(), self.block_len)
        })
    }

    /// Gives the block back to the kernel.
    pub fn release(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
    }

    fn start(&self) -> NonNull<u8> {
        // SAFETY: `next` is below `blocks`, so the block lies in the mapping.
        unsafe { self.memory.add(self.next * self.block_len) }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: the field is a word of the block's head, aligned as blocks are to pages; kernel
        // and program only access it as a whole.
        unsafe { self.start().add(STATUS_AT).cast().as_ref() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is as long as it was made, and nothing borrows from it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.block_len * self.blocks) };
    }
}

/// Waits until a ring has a block or its socket an error, or `timeout_ms` have passed.
pub(crate) fn wait(rings: &[&Ring], timeout_ms: c_int) {
    let poll = |ring: &&Ring| libc::pollfd {
        fd: ring.socket.fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut polled: Vec<libc::pollfd> = rings.iter().map(poll).collect();
    // SAFETY: the array is as long as it says. An interrupted wait is a short one.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as _, timeout_ms) };
}

/// A request about an interface.
fn named(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all-zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as _;
    }
    Ok(request)
}

/// `struct hwtstamp_config` of linux/net_tstamp.h.
#[repr(C)]
struct HardwareTimes {
    flags: c_int,
    tx_type: c_int,
    rx_filter: c_int,
}

/// HWTSTAMP_FILTER_ALL: the time of every packet that comes.
const FILTER_ALL: c_int = 1;

fn check(status: c_int) -> io::Result<c_int> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}

/// Whether an interface of this name is there, in the network namespace of the calling thread.
pub(crate) fn interface_exists(name: &str) -> bool {
    // SAFETY: the name is a C string.
    CString::new(name).is_ok_and(|name| unsafe { libc::if_nametoindex(name.as_ptr()) } != 0)
}

/// Gives up every capability of the calling thread, and of threads that it starts later, for good.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: c_int,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header { version: VERSION_3, pid: 0 };
    // Effective, permitted, inheritable, for two times 32 capabilities (capset(2)).
    let none = [0u32; 6];
    // SAFETY: the structures are those of capset(2); prctl takes plain numbers.
    unsafe {
        const NO: libc::c_ulong = 0;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as libc::c_ulong, NO, NO, NO))?;
        let status = libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr());
        check(status as c_int).map(drop)
    }
}

const TPACKET_V3: c_int = 2;
/// Where `block_status` is in `struct tpacket_block_desc`.
const STATUS_AT: usize = 8;
