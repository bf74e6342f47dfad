//! The time left: the mean duration of each target's turns at each point so far, for each of its remaining turns there.

use std::collections::BTreeMap;
use std::time::Duration;

/// The durations of turns.
#[derive(Debug, Default)]
pub(super) struct Pace {
    rounds: u32,
    /// The finished turns of each target at each point: their number and their total time.
    took: BTreeMap<(usize, usize), (u32, Duration)>,
    /// The current turn: its target, its point, and its start.
    current: Option<(usize, usize, Duration)>,
}

impl Pace {
    /// For the targets that `runs` marks, at this number of points.
    pub(super) fn new(rounds: u32, points: usize, runs: impl Iterator<Item = bool>) -> Self {
        let running = runs.enumerate().filter_map(|(row, runs)| runs.then_some(row));
        let pairs = running.flat_map(|row| (0..points).map(move |at| (row, at)));
        let took = pairs.map(|pair| (pair, (0, Duration::ZERO))).collect();
        Self { rounds, took, current: None }
    }

    pub(super) fn begin(&mut self, row: usize, at: usize, now: Duration) {
        self.current = Some((row, at, now));
    }

    pub(super) fn end(&mut self, now: Duration) {
        if let Some((row, at, began)) = self.current.take()
            && let Some((turns, time)) = self.took.get_mut(&(row, at))
        {
            *turns += 1;
            *time += now.saturating_sub(began);
        }
    }

    /// Removes a target that has no more turns.
    pub(super) fn drop(&mut self, row: usize) {
        self.took.retain(|(of, _), _| *of != row);
    }

    /// The estimated time left; `None` before the first turn is over.
    pub(super) fn left(&self, now: Duration) -> Option<Duration> {
        let all = mean(self.took.values())?;
        let mut left = Duration::ZERO;
        for ((row, _), (turns, time)) in &self.took {
            // A target without a turn at a point takes as long there as at other points, or as all targets do.
            let elsewhere =
                || mean(self.took.range((*row, 0)..(*row + 1, 0)).map(|(_, took)| took));
            let each = mean([&(*turns, *time)].into_iter()).or_else(elsewhere).unwrap_or(all);
            left += each * self.rounds.saturating_sub(*turns);
        }
        let gone = self.current.map_or(Duration::ZERO, |(_, _, began)| now.saturating_sub(began));
        Some(left.saturating_sub(gone))
    }
}

/// The mean duration of a turn; `None` without turns.
fn mean<'a>(took: impl Iterator<Item = &'a (u32, Duration)>) -> Option<Duration> {
    let (turns, time) =
        took.fold((0, Duration::ZERO), |sum, took| (sum.0 + took.0, sum.1 + took.1));
    (turns > 0).then(|| time / turns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_slow_target_has_more_of_the_time_that_is_left() {
        let mut pace = Pace::new(3, 1, [true, true, false].into_iter());
        assert_eq!(pace.left(s(0)), None);
        pace.begin(0, 0, s(0));
        pace.end(s(1));
        assert_eq!(pace.left(s(1)), Some(s(2 + 3)), "the other one is taken to be as fast");
        pace.begin(1, 0, s(1));
        pace.end(s(11));
        assert_eq!(pace.left(s(11)), Some(s(2 + 20)));
        pace.begin(1, 0, s(11));
        assert_eq!(pace.left(s(15)), Some(s(2 + 16)), "4 s of the turn are gone");
    }

    #[test]
    fn a_target_that_is_lost_takes_no_more_time() {
        let mut pace = Pace::new(2, 2, [true, true].into_iter());
        for (at, took) in [(0, 1), (1, 5)] {
            pace.begin(0, at, s(0));
            pace.end(s(took));
        }
        assert_eq!(pace.left(s(9)), Some(s(1 + 5 + 4 * 3)));
        pace.drop(1);
        assert_eq!(pace.left(s(9)), Some(s(1 + 5)));
    }
}
