//! The times of a trace as they follow each other. They go back where a clock was set back, or where a file is not in the order of
//! its times; then the first and the last time say nothing of how long the trace lasts.

/// Going back by this much is told in any trace, in microseconds. Requests on many connections are recorded a little out of
/// order.
const FAR_US: u64 = 1_000_000;

/// In a short trace this part of its time is enough.
const FAR_PART: u64 = 100;

/// The times so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timeline {
    seen: Option<Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    first_us: u64,
    least_us: u64,
    greatest_us: u64,
    last_us: u64,
    steps: u64,
    most_us: u64,
}

/// Times that go back, and by more than requests on many connections do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backward {
    /// The times that are before the one ahead of them.
    pub steps: u64,
    /// The most that a time is before an earlier one, in microseconds.
    pub most_us: u64,
    /// Whether the trace does not begin with its beginning: it has times that are far before its first.
    pub is_before_first: bool,
}

impl Timeline {
    /// Takes the next time, in microseconds.
    #[inline]
    pub fn push(&mut self, time_us: u64) {
        let Some(seen) = &mut self.seen else {
            self.seen = Some(Seen {
                first_us: time_us,
                least_us: time_us,
                greatest_us: time_us,
                last_us: time_us,
                steps: 0,
                most_us: 0,
            });
            return;
        };
        seen.steps += u64::from(time_us < seen.last_us);
        seen.most_us = seen.most_us.max(seen.greatest_us.saturating_sub(time_us));
        seen.least_us = seen.least_us.min(time_us);
        seen.greatest_us = seen.greatest_us.max(time_us);
        seen.last_us = time_us;
    }

    /// The first time; `None` before any.
    #[inline]
    pub fn first_us(&self) -> Option<u64> {
        self.seen.map(|seen| seen.first_us)
    }

    /// The least time; `None` before any.
    pub fn least_us(&self) -> Option<u64> {
        self.seen.map(|seen| seen.least_us)
    }

    /// The greatest time; `None` before any.
    #[inline]
    pub fn greatest_us(&self) -> Option<u64> {
        self.seen.map(|seen| seen.greatest_us)
    }

    /// The greatest time less the least.
    pub fn lasts_us(&self) -> u64 {
        self.seen.map_or(0, |seen| seen.greatest_us - seen.least_us)
    }

    /// Whether going back by this much is more than requests on many connections do.
    pub(super) fn is_far(&self, us: u64) -> bool {
        us >= FAR_US || us > 0 && us >= self.lasts_us() / FAR_PART
    }

    /// How the times go back, where it matters.
    pub fn backward(&self) -> Option<Backward> {
        let Seen { first_us, least_us, steps, most_us, .. } = self.seen?;
        let is_before_first = self.is_far(first_us - least_us);
        self.is_far(most_us).then_some(Backward { steps, most_us, is_before_first })
    }
}

impl FromIterator<u64> for Timeline {
    fn from_iter<T: IntoIterator<Item = u64>>(times_us: T) -> Self {
        let mut timeline = Self::default();
        for time_us in times_us {
            timeline.push(time_us);
        }
        timeline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_back_are_counted_and_the_time_is_that_from_the_least_to_the_greatest() {
        let hour = || (0..3600).map(|second| second * 1_000_000);
        let backward =
            |steps, most_us, is_before_first| Some(Backward { steps, most_us, is_before_first });
        let second = 1_000_000;
        for (times, expected) in [
            (hour().collect(), None),
            (hour().rev().collect::<Vec<_>>(), backward(3599, 3599 * second, true)),
            (
                hour().skip(1800).chain(hour().take(1800)).collect(),
                backward(1, 3599 * second, true),
            ),
            // A clock that was set back by a second.
            (hour().chain([3598 * second, 3599 * second]).collect(), backward(1, second, false)),
            // Requests on several connections.
            (hour().flat_map(|us| [us + 700, us]).collect(), None),
        ] {
            let timeline: Timeline = times.iter().copied().collect();
            assert_eq!(timeline.backward(), expected);
            assert!((3599 * second..3600 * second).contains(&timeline.lasts_us()));
        }
        // In ten milliseconds one of them is far.
        let short: Timeline = [5_000, 12_000, 11_000, 15_000].into_iter().collect();
        assert_eq!((short.backward(), short.lasts_us()), (backward(1, 1000, false), 10_000));
        assert_eq!(Timeline::default().backward(), None);
        assert_eq!([7, 7].into_iter().collect::<Timeline>().backward(), None);
    }
}
