//! Who goes first when the processor is wanted by many.

/// How far threads stand back that nobody waits for, in steps of `nice`: 0 is not at all, 19 most.
///
/// With 10 steps between them, of two threads on one core the one in front has nine tenths.
#[cfg(target_os = "linux")]
const STEPS: i32 = 10;

/// Lets threads that answer go before this one, and before every thread that it starts from now on.
///
/// Only on Linux, where each thread has a priority of its own; elsewhere nothing happens.
pub(crate) fn stand_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(STEPS) {
        tracing::debug!(%error, "indexing goes on at the priority of answers");
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stands_back_with_those_it_starts_and_nobody_else() {
        let own = || rustix::process::getpriority_process(None).unwrap();
        let before = own();
        let inside = std::thread::spawn(move || {
            stand_back();
            (own(), std::thread::spawn(own).join().unwrap())
        });
        let expected = (before + STEPS).min(19);
        assert_eq!(inside.join().unwrap(), (expected, expected));
        assert_eq!(own(), before);
    }
}
