//! A disk that fails on command.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use weft_index::{Disk, DiskOperation, FaultInjector};

/// Injects faults into a disk: by the number of the operation, from 0, or as a full disk.
#[derive(Debug, Default)]
pub struct FailingDisk {
    n_steps: AtomicU64,
    plan: Mutex<FaultPlan>,
    full: Mutex<FullDisk>,
}

/// Files for which the disk is full.
#[derive(Debug, Default)]
enum FullDisk {
    #[default]
    Nowhere,
    /// Files whose path contains this text.
    At(String),
    Everywhere,
}

#[derive(Clone, Copy, Debug, Default)]
enum FaultPlan {
    #[default]
    Sound,
    /// The operation with this number fails, and none after it.
    Once(u64),
    /// The operation with this number and all later ones fail, as if the process had died.
    From(u64),
}

impl FailingDisk {
    /// Returns a disk that never fails.
    #[must_use]
    pub fn sound() -> Arc<Self> {
        Arc::default()
    }

    /// Returns a disk on which only operation `n` fails.
    #[must_use]
    pub fn once(n: u64) -> Arc<Self> {
        Arc::new(Self { plan: Mutex::new(FaultPlan::Once(n)), ..Self::default() })
    }

    /// Returns a disk on which operation `n` and all later ones fail.
    #[must_use]
    pub fn dead_from(n: u64) -> Arc<Self> {
        Arc::new(Self { plan: Mutex::new(FaultPlan::From(n)), ..Self::default() })
    }

    /// Returns the disk with these faults.
    #[must_use]
    pub fn disk(self: &Arc<Self>) -> Disk {
        Disk::with_faults(Arc::clone(self) as Arc<dyn FaultInjector>)
    }

    /// Returns the number of operations attempted.
    pub fn n_steps(&self) -> u64 {
        self.n_steps.load(Ordering::SeqCst)
    }

    /// Lets `n` more operations succeed and fails all later ones, as if the process died then.
    pub fn die_after(&self, n: u64) {
        let from = FaultPlan::From(self.n_steps() + n);
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = from;
    }

    /// Lets `n` more operations succeed and fails only the next one.
    pub fn fail_after(&self, n: u64) {
        let once = FaultPlan::Once(self.n_steps() + n);
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = once;
    }

    /// Returns true if operations fail by [`die_after`](Self::die_after), now or soon.
    pub fn is_dying(&self) -> bool {
        matches!(*self.plan.lock().unwrap_or_else(PoisonError::into_inner), FaultPlan::From(_))
    }

    /// Stops failing operations by number.
    pub fn recover(&self) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = FaultPlan::Sound;
    }

    /// Sets whether the whole disk is full.
    pub fn set_full(&self, is_full: bool) {
        self.fill(if is_full { FullDisk::Everywhere } else { FullDisk::Nowhere });
    }

    /// Makes the disk full for files whose path contains `part`, as under a quota.
    pub fn set_full_at(&self, part: &str) {
        self.fill(FullDisk::At(part.to_owned()));
    }

    fn fill(&self, full: FullDisk) {
        *self.full.lock().unwrap_or_else(PoisonError::into_inner) = full;
    }
}

impl FaultInjector for FailingDisk {
    fn check(&self, step: DiskOperation, path: &Path) -> io::Result<()> {
        let n = self.n_steps.fetch_add(1, Ordering::SeqCst);
        let plan = *self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let fails = match plan {
            FaultPlan::Sound => false,
            FaultPlan::Once(at) => n == at,
            FaultPlan::From(at) => n >= at,
        };
        if fails {
            return Err(io::Error::other(format!("change {n} fails: {step:?} {}", path.display())));
        }
        let is_full = match &*self.full.lock().unwrap_or_else(PoisonError::into_inner) {
            FullDisk::Nowhere => false,
            FullDisk::At(part) => path.to_string_lossy().contains(part),
            FullDisk::Everywhere => true,
        };
        if step.needs_space() && is_full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}
