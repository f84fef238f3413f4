//! Memory that was freed and that the C library keeps.

/// Gives pages that hold nothing any more back to the kernel. What is needed next may be of other
/// sizes, and would not fit between what is left. glibc alone keeps them (`malloc_trim(3)`).
pub(crate) fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes a number, and touches nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// From now on blocks of so many bytes and more go back to the kernel when they are freed. glibc
/// does so at first, from 128 KiB on, and raises that with each of them, up to 32 MiB
/// (`mallopt(3)`). Then what is large and short-lived leaves holes between what lasts. It holds for
/// the whole process: whose it is decides.
pub fn give_back_when_freed(bytes: u32) {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes two numbers, and changes nothing but when memory is given back.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, bytes.min(i32::MAX as u32) as i32);
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = bytes;
}
