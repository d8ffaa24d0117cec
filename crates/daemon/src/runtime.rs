//! The async runtime that serves connections.

use std::io;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};

/// Number of cores per runtime thread.
///
/// Reading a request and writing its response takes about 40 µs of a core; a search takes several times that, on other threads ([`Services`](crate::Services)).
const CORES_PER_THREAD: usize = 4;

/// Builds a runtime with as few threads as can serve the connections.
///
/// Handing a request from one thread to another costs a wakeup, which takes longer than the work on the request.
///
/// # Errors
///
/// The system cannot create threads.
pub fn runtime() -> io::Result<Runtime> {
    let cores = available_parallelism().map_or(1, usize::from);
    let n_threads = cores.div_ceil(CORES_PER_THREAD);
    Builder::new_multi_thread().worker_threads(n_threads).enable_all().build()
}
