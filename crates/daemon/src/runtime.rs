//! The threads that read requests and write answers.

use std::io;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};

/// Cores for each thread that serves.
///
/// Reading a call and writing its answer takes some 40 µs of a core, searches several times that on threads of their own ([`Services`](crate::Services)).
const CORES_PER_THREAD: usize = 4;

/// A runtime to serve on, with as few threads as keep up with the calls.
///
/// A call that goes from one thread to another waits until that one has woken, which takes longer than what it has to do for the call.
///
/// # Errors
///
/// The system gives no threads.
pub fn runtime() -> io::Result<Runtime> {
    let cores = available_parallelism().map_or(1, usize::from);
    let n_threads = cores.div_ceil(CORES_PER_THREAD);
    Builder::new_multi_thread().worker_threads(n_threads).enable_all().build()
}
