//! What the system's allocator keeps for itself.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "the allocator of the C library is set up by calls of it")
)]

/// Bounds the pools of the C library's allocator by the number of cores, where it has pools, and lets each keep what a commit needs.
///
/// Each commit of the word index is written by a thread of its own, and glibc gives new threads new pools, up to eight a core, which keep what was once needed.
/// Measured in half a minute of 50 edits a second on two cores, from 58 MB: 250 MB with sixteen pools, 66 MB with two.
///
/// What lies free at the end of a pool goes back to the system, and with the library's own bounds a commit gave back its ten megabytes only for the next one to ask for them.
/// Measured over 1,000 edits in a vault of 86 notes: 9.1 s of the processor's time, 4.4 of it in the system; 5.8 and 1.3 with these bounds.
///
/// Holds for the whole process, so whoever is the process calls it, once, before it opens an index.
pub fn set_up_pools() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use std::ffi::c_int;

        // Names and numbers of glibc's malloc.h.
        const M_TRIM_THRESHOLD: c_int = -1;
        const M_MMAP_THRESHOLD: c_int = -3;
        const M_ARENA_MAX: c_int = -8;
        unsafe extern "C" {
            fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        let n_pools = c_int::try_from(n_cores.max(2)).unwrap_or(c_int::MAX);
        let settings = [
            ("the number of pools", M_ARENA_MAX, n_pools),
            ("bytes that a pool keeps", M_TRIM_THRESHOLD, 16 << 20),
            ("bytes from which on a block lies in no pool", M_MMAP_THRESHOLD, 8 << 20),
        ];
        for (name, parameter, value) in settings {
            // SAFETY: `mallopt` is glibc's, with this signature; it may be called at any time, and takes its own lock.
            let taken = unsafe { mallopt(parameter, value) };
            if taken == 0 {
                tracing::debug!(name, value, "the allocator goes on as it was");
            }
        }
    }
}
