//! A disk that fails when it is told to.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use weft_index::{Disk, Gate, Step};

/// Stands before a disk and lets changes fail by their number, from 0, or while there is no room.
#[derive(Debug, Default)]
pub struct FailingDisk {
    n_steps: AtomicU64,
    plan: Mutex<Plan>,
    full: Mutex<Full>,
}

/// Where there is no room.
#[derive(Debug, Default)]
enum Full {
    #[default]
    Nowhere,
    /// In files whose path holds this.
    At(String),
    Everywhere,
}

#[derive(Clone, Copy, Debug, Default)]
enum Plan {
    #[default]
    Sound,
    /// This change fails, and none after it.
    Once(u64),
    /// This change fails, and all after it: the process is as good as dead.
    From(u64),
}

impl FailingDisk {
    /// A disk that never fails.
    #[must_use]
    pub fn sound() -> Arc<Self> {
        Arc::default()
    }

    /// A disk whose change `n` fails; all others come about.
    #[must_use]
    pub fn once(n: u64) -> Arc<Self> {
        Arc::new(Self { plan: Mutex::new(Plan::Once(n)), ..Self::default() })
    }

    /// A disk whose change `n` fails, and every one after it.
    #[must_use]
    pub fn dead_from(n: u64) -> Arc<Self> {
        Arc::new(Self { plan: Mutex::new(Plan::From(n)), ..Self::default() })
    }

    /// The disk behind it.
    #[must_use]
    pub fn disk(self: &Arc<Self>) -> Disk {
        Disk::behind(Arc::clone(self) as Arc<dyn Gate>)
    }

    /// Changes that were tried.
    pub fn n_steps(&self) -> u64 {
        self.n_steps.load(Ordering::SeqCst)
    }

    /// Lets no change fail any more by its number.
    pub fn recover(&self) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = Plan::Sound;
    }

    /// Whether there is no room from now on.
    pub fn set_full(&self, is_full: bool) {
        self.fill(if is_full { Full::Everywhere } else { Full::Nowhere });
    }

    /// Leaves no room in files whose path holds `part`, as under a quota, from now on.
    pub fn set_full_at(&self, part: &str) {
        self.fill(Full::At(part.to_owned()));
    }

    fn fill(&self, full: Full) {
        *self.full.lock().unwrap_or_else(PoisonError::into_inner) = full;
    }
}

impl Gate for FailingDisk {
    fn pass(&self, step: Step, path: &Path) -> io::Result<()> {
        let n = self.n_steps.fetch_add(1, Ordering::SeqCst);
        let plan = *self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let fails = match plan {
            Plan::Sound => false,
            Plan::Once(at) => n == at,
            Plan::From(at) => n >= at,
        };
        if fails {
            return Err(io::Error::other(format!("change {n} fails: {step:?} {}", path.display())));
        }
        let is_full = match &*self.full.lock().unwrap_or_else(PoisonError::into_inner) {
            Full::Nowhere => false,
            Full::At(part) => path.to_string_lossy().contains(part),
            Full::Everywhere => true,
        };
        if step.takes_room() && is_full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}
