//! What the system's allocator keeps for itself.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "the allocator of the C library is set up by a call of it")
)]

/// Bounds the pools of the C library's allocator by the number of cores, where it has pools.
///
/// Each commit of the word index is written by a thread of its own, and glibc gives new threads new pools, up to eight a core, which keep what was once needed.
/// Measured in half a minute of 50 edits a second on two cores, from 58 MB: 250 MB with sixteen pools, 66 MB with two.
/// Holds for the whole process, so whoever is the process calls it, once, before it opens an index.
pub fn bound_pools() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use std::ffi::c_int;

        /// `M_ARENA_MAX` of glibc's malloc.h.
        const MOST_POOLS: c_int = -8;
        unsafe extern "C" {
            fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        let n_pools = c_int::try_from(n_cores.max(2)).unwrap_or(c_int::MAX);
        // SAFETY: `mallopt` is glibc's, with this signature; it may be called at any time, and takes its own lock.
        let taken = unsafe { mallopt(MOST_POOLS, n_pools) };
        if taken == 0 {
            tracing::debug!("the allocator keeps its own number of pools");
        }
    }
}
