//! Truncated maps: reads beyond the new end of a mapped file that another program truncates yield zeros instead of ending the process.
//!
//! Such a read raises SIGBUS. The handler replaces the missing pages by zeros and raises the flag of the file, which every reader checks before it returns what it read.
//! Linux only; on other systems the signal ends the process.
#![expect(unsafe_code, reason = "signals and mapped memory are outside the compiler's view")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// A missing part of a file of the store was read.
#[derive(Debug, thiserror::Error)]
#[error("{} was truncated by another program", path.display())]
pub struct TruncatedFile {
    /// Path of the file, or of its folder.
    pub path: PathBuf,
}

/// Tells whether another program truncated a file, or one of the files of a folder, while it was mapped. Clones share one state, which never returns to false.
#[derive(Clone, Debug, Default)]
pub(crate) struct TruncationFlag(Arc<MappedPath>);

#[derive(Debug, Default)]
struct MappedPath {
    path: PathBuf,
    is_truncated: AtomicBool,
}

impl TruncationFlag {
    /// Creates the flag of the file or folder at `path`.
    pub(crate) fn of(path: &Path) -> Self {
        Self(Arc::new(MappedPath { path: path.to_owned(), is_truncated: AtomicBool::new(false) }))
    }

    /// True if a read so far met the missing part of a file, so that its result may contain zeros instead of data.
    pub(crate) fn is_raised(&self) -> bool {
        // Reads before this call are not moved behind it.
        fence(Ordering::SeqCst);
        self.0.is_truncated.load(Ordering::SeqCst)
    }

    /// Fails if the flag is raised.
    pub(crate) fn check(&self) -> Result<(), TruncatedFile> {
        if self.is_raised() {
            return Err(TruncatedFile { path: self.0.path.clone() });
        }
        Ok(())
    }
}

/// Registers the `n_bytes` bytes that are mapped at `start` until the result is dropped, which must happen before they are unmapped.
pub(crate) fn guard(start: *const u8, n_bytes: usize, flag: &TruncationFlag) -> MapGuard {
    #[cfg(target_os = "linux")]
    {
        MapGuard {
            range: handler::register(start, n_bytes, &flag.0.is_truncated),
            _flag: flag.clone(),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (start, n_bytes);
        MapGuard { _flag: flag.clone() }
    }
}

/// Registration of mapped memory.
#[derive(Debug)]
pub(crate) struct MapGuard {
    #[cfg(target_os = "linux")]
    range: &'static handler::MappedRange,
    /// Keeps the state alive that the handler writes to.
    _flag: TruncationFlag,
}

#[cfg(target_os = "linux")]
impl Drop for MapGuard {
    fn drop(&mut self) {
        handler::release(self.range);
    }
}

#[cfg(target_os = "linux")]
mod handler {
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
    use std::sync::{Mutex, Once, PoisonError};

    use libc::{c_int, c_void, sigaction, siginfo_t};

    /// Mapped memory; free while `start` is 0. The handler reads it at any time, so it is never deallocated.
    #[derive(Debug)]
    pub(super) struct MappedRange {
        start: AtomicUsize,
        end: AtomicUsize,
        is_truncated: AtomicPtr<AtomicBool>,
    }

    /// Ranges per block: those of a few generations.
    const RANGES_PER_BLOCK: usize = 128;

    /// Block of the list of all ranges, which only grows.
    struct MapBlock {
        ranges: [MappedRange; RANGES_PER_BLOCK],
        next: AtomicPtr<MapBlock>,
    }

    /// Block registered last.
    static NEWEST: AtomicPtr<MapBlock> = AtomicPtr::new(ptr::null_mut());

    /// Free ranges.
    static FREE: Mutex<Vec<&'static MappedRange>> = Mutex::new(Vec::new());

    /// Handling of the signal before this one.
    static EARLIER: AtomicPtr<sigaction> = AtomicPtr::new(ptr::null_mut());

    /// Size of a page in bytes, a power of two.
    static PAGE_BYTES: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn register(
        start: *const u8,
        n_bytes: usize,
        is_truncated: &AtomicBool,
    ) -> &'static MappedRange {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(install);
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let range = free.pop().unwrap_or_else(|| {
            let block: &'static MapBlock = Box::leak(Box::new(MapBlock {
                ranges: std::array::from_fn(|_| MappedRange {
                    start: AtomicUsize::new(0),
                    end: AtomicUsize::new(0),
                    is_truncated: AtomicPtr::new(ptr::null_mut()),
                }),
                next: AtomicPtr::new(NEWEST.load(Ordering::SeqCst)),
            }));
            NEWEST.store(ptr::from_ref(block).cast_mut(), Ordering::SeqCst);
            let [first, others @ ..] = &block.ranges;
            free.extend(others);
            first
        });
        range.is_truncated.store(ptr::from_ref(is_truncated).cast_mut(), Ordering::SeqCst);
        range.end.store(start.addr() + n_bytes, Ordering::SeqCst);
        range.start.store(start.addr(), Ordering::SeqCst);
        range
    }

    pub(super) fn release(range: &'static MappedRange) {
        range.start.store(0, Ordering::SeqCst);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(range);
    }

    /// Installs the handler for the rest of the process's life.
    fn install() {
        // SAFETY: `sysconf` only reads a constant of the system.
        let n_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        PAGE_BYTES.store(usize::try_from(n_bytes).unwrap_or(4096), Ordering::SeqCst);
        let mut earlier = MaybeUninit::<sigaction>::zeroed();
        // SAFETY: both calls get valid pointers or null; the handler only calls functions that are safe in signal handlers. A zeroed `sigaction` is a valid one.
        unsafe {
            if sigaction(libc::SIGBUS, ptr::null(), earlier.as_mut_ptr()) != 0 {
                return;
            }
            // The handler may run as soon as it is installed.
            EARLIER.store(Box::leak(Box::new(earlier.assume_init())), Ordering::SeqCst);
            let mut action = MaybeUninit::<sigaction>::zeroed().assume_init();
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_bus_error;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            sigaction(libc::SIGBUS, &raw const action, ptr::null_mut());
        }
    }

    /// Handles SIGBUS. A signal that no registered memory caused is left to the earlier handling.
    extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel passes a valid `siginfo_t`; `si_addr` is set for this code; `errno` of this thread is restored for the interrupted code.
        unsafe {
            let errno = *libc::__errno_location();
            let is_missing_page = (*info).si_code == BUS_ADRERR;
            if !(is_missing_page && fill((*info).si_addr().addr())) {
                forward(signal, info, context);
            }
            *libc::__errno_location() = errno;
        }
    }

    /// Code of a signal for memory that does not exist. Source: Linux, `include/uapi/asm-generic/siginfo.h`.
    const BUS_ADRERR: c_int = 2;

    /// Replaces the page of `address` and the later ones of its range by zeros; returns false if it is in no registered range.
    fn fill(address: usize) -> bool {
        let mut block = NEWEST.load(Ordering::SeqCst);
        // SAFETY: blocks are never deallocated.
        while let Some(present) = unsafe { block.as_ref() } {
            for range in &present.ranges {
                let start = range.start.load(Ordering::SeqCst);
                let end = range.end.load(Ordering::SeqCst);
                // A range that another thread registers meanwhile has another start. The range of this address stays, since it is being read.
                let is_whole = range.start.load(Ordering::SeqCst) == start;
                if start != 0 && is_whole && (start..end).contains(&address) {
                    return replace(address, end, range);
                }
            }
            block = present.next.load(Ordering::SeqCst);
        }
        false
    }

    fn replace(address: usize, end: usize, range: &MappedRange) -> bool {
        let n_page_bytes = PAGE_BYTES.load(Ordering::SeqCst);
        let first = address & !(n_page_bytes - 1);
        // SAFETY: the flag lives as long as the registration, which the interrupted reader keeps.
        if let Some(is_truncated) = unsafe { range.is_truncated.load(Ordering::SeqCst).as_ref() } {
            // Before the zeros can be read by another thread.
            is_truncated.store(true, Ordering::SeqCst);
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let n_bytes = (end - first).next_multiple_of(n_page_bytes);
        // SAFETY: the pages belong to the registered mapping as a whole, and stay readable. `mmap` is a plain system call.
        let mapped = unsafe {
            libc::mmap(ptr::without_provenance_mut(first), n_bytes, libc::PROT_READ, flags, -1, 0)
        };
        mapped != libc::MAP_FAILED
    }

    /// Passes the signal to the handler that was installed before, or ends the process as the system does by default.
    ///
    /// # Safety
    ///
    /// The arguments must be those of the signal.
    unsafe fn forward(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: what is stored is never deallocated; an earlier handler has the type that its flags say; `signal` and `raise` are safe in signal handlers.
        unsafe {
            match EARLIER.load(Ordering::SeqCst).as_ref() {
                Some(earlier) if !matches!(earlier.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) => {
                    if earlier.sa_flags & libc::SA_SIGINFO == 0 {
                        let handler: extern "C" fn(c_int) =
                            std::mem::transmute(earlier.sa_sigaction);
                        handler(signal);
                    } else {
                        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                            std::mem::transmute(earlier.sa_sigaction);
                        handler(signal, info, context);
                    }
                }
                Some(_) | None => {
                    libc::signal(signal, libc::SIG_DFL);
                    libc::raise(signal);
                }
            }
        }
    }
}
