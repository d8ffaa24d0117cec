//! How far a node is behind the log, from what it has seen of the log.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Number of heads that are remembered. More arrive only if a node falls behind; the age is then a little too high.
const MAX_SEEN: usize = 4096;

/// How far a node is behind the log, as far as it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLag {
    /// Newest number of the log that the node has seen.
    pub log_seq: u64,
    /// Number of commits up to it that the node has not applied.
    pub n_commits: u64,
    /// Time since the served state was certainly the newest one; also grows while the database cannot be reached.
    pub age: Duration,
    /// True if the log once lacked commits that the node had applied: their numbers may stand for other commits now.
    pub lost_commits: bool,
}

impl LogLag {
    /// Returns true if the node knows commits that it has not applied, and its state is older than `max`.
    ///
    /// A node that cannot reach the database is not behind: the others cannot either, and its answers are the best there are.
    #[must_use]
    pub fn is_behind(&self, max: Duration) -> bool {
        self.n_commits > 0 && self.age > max
    }
}

/// The heads of a log that a node has seen, with the time when each was last the newest.
#[derive(Debug)]
pub(crate) struct SeenHeads {
    opened: Instant,
    /// Ascending.
    heads: VecDeque<(u64, Instant)>,
    /// Newest number that the index began to apply, and when.
    pinned: (u64, Instant),
    lost_commits: bool,
}

impl SeenHeads {
    pub(crate) const fn new(opened: Instant) -> Self {
        Self { opened, heads: VecDeque::new(), pinned: (0, opened), lost_commits: false }
    }

    /// Records that the index applies the state `generation` from `at` on.
    pub(crate) fn pin(&mut self, generation: u64, at: Instant) {
        if generation > self.pinned.0 {
            self.pinned = (generation, at);
        }
    }

    /// Returns true if a head was seen that is less than a number that was applied before.
    pub(crate) const fn lost_commits(&self) -> bool {
        self.lost_commits
    }

    /// Records that `head` was the newest number at `at` or later.
    pub(crate) fn see(&mut self, head: u64, at: Instant) {
        let (pinned, pinned_at) = self.pinned;
        self.lost_commits |= head < pinned && at > pinned_at;
        match self.heads.back_mut() {
            Some((newest, seen)) if *newest == head => *seen = at.max(*seen),
            // An answer that was overtaken by a later one.
            Some((newest, _)) if *newest > head => {}
            Some(_) | None => self.heads.push_back((head, at)),
        }
        if self.heads.len() > MAX_SEEN {
            // The first one is the state that the node serves.
            self.heads.remove(1);
        }
    }

    /// Returns the lag at `now` of a node that serves the state `generation`.
    pub(crate) fn lag(&mut self, generation: u64, now: Instant) -> LogLag {
        let is_applied = |heads: &VecDeque<(u64, Instant)>| {
            heads.get(1).is_some_and(|(head, _)| *head <= generation)
        };
        while is_applied(&self.heads) {
            self.heads.pop_front();
        }
        let current = self.heads.front().filter(|(head, _)| *head <= generation);
        let current_at = current.map_or(self.opened, |(_, at)| *at);
        let log_seq = self.heads.back().map_or(generation, |(head, _)| generation.max(*head));
        let n_commits = log_seq - generation;
        let age = now.saturating_duration_since(current_at);
        LogLag { log_seq, n_commits, age, lost_commits: self.lost_commits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_counts_from_the_moment_when_the_served_state_was_the_newest() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let seen: [(u64, u64); 5] = [(7, 1), (7, 3), (9, 4), (12, 5), (12, 8)];
        let cases = [
            ("nothing applied", 0, 12, 12, 10),
            ("before the first head", 6, 12, 6, 10),
            ("the first head, last seen at 3", 7, 12, 5, 7),
            ("between two heads", 8, 12, 4, 7),
            ("the second head", 9, 12, 3, 6),
            ("the newest head, last seen at 8", 12, 12, 0, 2),
            ("an own commit that was not seen yet", 13, 13, 0, 2),
        ];
        for (name, generation, log_seq, n_commits, age) in cases {
            let mut heads = SeenHeads::new(start);
            seen.iter().for_each(|(head, second)| heads.see(*head, at(*second)));
            heads.see(9, at(9));
            let age = Duration::from_secs(age);
            let expected = LogLag { log_seq, n_commits, age, lost_commits: false };
            assert_eq!(heads.lag(generation, at(10)), expected, "{name}");
            assert_eq!(heads.lag(generation, at(10)), expected, "{name}, again");
        }
        let mut unreached = SeenHeads::new(start);
        let lag = unreached.lag(5, at(2));
        assert_eq!((lag.n_commits, lag.age), (0, Duration::from_secs(2)));
        assert!(!lag.is_behind(Duration::ZERO), "no newer commits are known");
    }

    #[test]
    fn log_that_was_set_back_is_noticed_for_good() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut heads = SeenHeads::new(start);
        heads.see(7, at(1));
        heads.pin(7, at(2));
        heads.see(6, at(1));
        assert!(!heads.lost_commits(), "an answer that was overtaken");
        heads.see(7, at(3));
        heads.see(6, at(4));
        assert!(heads.lost_commits());
        heads.see(9, at(5));
        assert!(heads.lag(7, at(6)).lost_commits, "7 may stand for another commit now");
    }

    #[test]
    fn only_known_commits_make_a_node_fall_behind() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut heads = SeenHeads::new(start);
        let max = Duration::from_millis(500);
        heads.see(3, at(0));
        assert!(!heads.lag(3, at(9000)).is_behind(max), "the database is gone");
        (0..3 * MAX_SEEN as u64).for_each(|n| heads.see(4 + n, at(9000 + n)));
        assert!(!heads.lag(3, at(400)).is_behind(max));
        assert!(heads.lag(3, at(60_000)).is_behind(max));
        assert_eq!(heads.lag(3, at(60_000)).age, Duration::from_secs(60));
        assert!(heads.heads.len() <= MAX_SEEN, "memory is bounded");
    }
}
