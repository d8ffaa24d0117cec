//! Who goes first when the processor is wanted by many.

/// Lets other threads go before this one, and before every thread that it starts from now on, by `steps` of `nice`, of which there are 19.
///
/// With 10 steps between them, of two threads on one core the one in front has nine tenths; with 5, three quarters.
/// Only on Linux, where each thread has a priority of its own; elsewhere nothing happens.
pub(crate) fn stand_back(steps: i32) {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(steps) {
        tracing::debug!(%error, "it goes on at the priority it had");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = steps;
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stands_back_with_those_it_starts_and_nobody_else() {
        let own = || rustix::process::getpriority_process(None).unwrap();
        let before = own();
        let inside = std::thread::spawn(move || {
            stand_back(10);
            (own(), std::thread::spawn(own).join().unwrap())
        });
        let expected = (before + 10).min(19);
        assert_eq!(inside.join().unwrap(), (expected, expected));
        assert_eq!(own(), before);
    }
}
