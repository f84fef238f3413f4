//! The calls into C: the only `unsafe` code of tcpwhy.
#![expect(unsafe_code, reason = "calling C is what this module is for")]

pub(crate) mod memory;
pub(crate) mod packet;
pub(crate) mod realtime;

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::mem::transmute;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tcpwhy_core::wire::bpf::Instruction;

/// libpcap's compiler of filter expressions, found at run time so that building needs no headers
/// and running needs no library unless a filter is given.
pub(crate) struct Libpcap {
    open: Open,
    compile: Compile,
    geterr: GetErr,
    freecode: FreeCode,
    close: Close,
}

// The functions of pcap(3PCAP) that are called; their types have not changed since libpcap 1.0.
type Handle = *mut c_void;
type Open = unsafe extern "C" fn(*mut libc::FILE, *mut c_char) -> Handle;
type Compile = unsafe extern "C" fn(Handle, *mut BpfProgram, *const c_char, c_int, c_uint) -> c_int;
type GetErr = unsafe extern "C" fn(Handle) -> *const c_char;
type FreeCode = unsafe extern "C" fn(*mut BpfProgram);
type Close = unsafe extern "C" fn(Handle);

/// `struct bpf_program`.
#[repr(C)]
struct BpfProgram {
    len: c_uint,
    instructions: *mut Instruction,
}

impl Libpcap {
    /// The library, locked: its compiler was not reentrant before version 1.8. The error says how
    /// to get it.
    pub fn lock() -> Result<MutexGuard<'static, Libpcap>, &'static str> {
        static LIBRARY: OnceLock<Option<Mutex<Libpcap>>> = OnceLock::new();
        let library = LIBRARY.get_or_init(|| Libpcap::load().map(Mutex::new)).as_ref();
        let library = library.ok_or("libpcap is missing, `apt install libpcap0.8` brings it")?;
        Ok(library.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn load() -> Option<Libpcap> {
        let names = [c"libpcap.so.0.8", c"libpcap.so.1", c"libpcap.so"];
        let library = names.into_iter().find_map(|name| {
            // SAFETY: the name is a C string; loading libpcap runs no code with requirements.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            (!handle.is_null()).then_some(handle)
        })?;
        let symbol = |name: &CStr| {
            // SAFETY: the handle is of a library that stays loaded, the name is a C string.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        // SAFETY: a symbol of each name has the type given above for it.
        unsafe {
            Some(Libpcap {
                open: transmute::<Handle, Open>(symbol(c"pcap_fopen_offline")?),
                compile: transmute::<Handle, Compile>(symbol(c"pcap_compile")?),
                geterr: transmute::<Handle, GetErr>(symbol(c"pcap_geterr")?),
                freecode: transmute::<Handle, FreeCode>(symbol(c"pcap_freecode")?),
                close: transmute::<Handle, Close>(symbol(c"pcap_close")?),
            })
        }
    }

    /// Compiles an expression for frames of this LINKTYPE, in a file of this byte order. The error
    /// is libpcap's own message.
    pub fn compile(
        &self,
        expression: &str,
        linktype: u16,
        big_endian: bool,
    ) -> Result<Vec<Instruction>, String> {
        const OPTIMIZE: c_int = 1;
        const NETMASK_UNKNOWN: c_uint = 0xffff_ffff;
        const ERROR_LEN: usize = 256;
        let text = CString::new(expression).map_err(|_| "it contains a zero byte".to_owned())?;
        // Opened as a file without packets: libpcap compiles loopback link types otherwise when it
        // believes that the packets are from this host.
        let mut header = empty_capture(linktype, big_endian);
        let mut error = [0 as c_char; ERROR_LEN];
        // SAFETY: the header outlives the stream, which is closed with the handle below; the error
        // buffer is as long as libpcap asks for.
        let handle = unsafe {
            let file = libc::fmemopen(header.as_mut_ptr().cast(), header.len(), c"r".as_ptr());
            if file.is_null() {
                return Err("out of memory".to_owned());
            }
            let handle = (self.open)(file, error.as_mut_ptr());
            if handle.is_null() {
                libc::fclose(file);
            }
            handle
        };
        if handle.is_null() {
            // SAFETY: libpcap left a C string there.
            let message = unsafe { CStr::from_ptr(error.as_ptr()) };
            return Err(message.to_string_lossy().into_owned());
        }
        let mut program = BpfProgram { len: 0, instructions: std::ptr::null_mut() };
        // SAFETY: handle and text are valid; `program` is written only on success.
        let status = unsafe {
            (self.compile)(handle, &mut program, text.as_ptr(), OPTIMIZE, NETMASK_UNKNOWN)
        };
        let result = if status == 0 {
            // SAFETY: on success `instructions` points to `len` instructions, whose layout is that
            // of `Instruction`; they are copied before they are freed, once.
            unsafe {
                let slice = std::slice::from_raw_parts(program.instructions, program.len as usize);
                let instructions = slice.to_vec();
                (self.freecode)(&mut program);
                Ok(instructions)
            }
        } else {
            // SAFETY: gives a C string inside the handle, which is copied before it is closed.
            let message = unsafe { CStr::from_ptr((self.geterr)(handle)) };
            Err(message.to_string_lossy().into_owned())
        };
        // SAFETY: the handle came from `open` and is not used again.
        unsafe { (self.close)(handle) };
        result
    }
}

/// The header of a pcap file.
fn empty_capture(linktype: u16, big_endian: bool) -> [u8; 24] {
    let version = if big_endian { 0x0002_0004 } else { 0x0004_0002 };
    let words = [0xa1b2_c3d4, version, 0, 0, 262_144, u32::from(linktype)];
    let mut bytes = [0; 24];
    for (slot, word) in bytes.chunks_exact_mut(4).zip(words) {
        let word: u32 = word;
        slot.copy_from_slice(&if big_endian { word.to_be_bytes() } else { word.to_le_bytes() });
    }
    bytes
}
