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
