//! The operations over time, in steps that grow with the trace.

use larder_report::Course;

use crate::step::TICKS_A_SECOND;

/// The most steps; with more the length of a step doubles.
const MOST_STEPS: usize = 480;

/// What happened in a step.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    rows: u64,
    reads: u64,
    hits: u64,
}

/// Counts by time.
#[derive(Debug)]
pub(crate) struct Steps {
    counts: Vec<Counts>,
    /// The length of a step in ticks: 2^shift.
    shift: u32,
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self { counts: Vec::with_capacity(MOST_STEPS), shift: 0 }
    }

    /// Counts an operation at a time in ticks.
    #[inline]
    pub(crate) fn count(&mut self, at: u32, is_read: bool, is_hit: bool) {
        let mut step = (at >> self.shift) as usize;
        if step >= self.counts.len() {
            while step >= MOST_STEPS {
                self.double();
                step = (at >> self.shift) as usize;
            }
            self.counts.resize((step + 1).max(self.counts.len()), Counts::default());
        }
        let counts = &mut self.counts[step];
        counts.rows += 1;
        counts.reads += u64::from(is_read);
        counts.hits += u64::from(is_hit);
    }

    #[cold]
    fn double(&mut self) {
        let add = |pair: &[Counts]| Counts {
            rows: pair.iter().map(|counts| counts.rows).sum(),
            reads: pair.iter().map(|counts| counts.reads).sum(),
            hits: pair.iter().map(|counts| counts.hits).sum(),
        };
        self.counts = self.counts.chunks(2).map(add).collect();
        self.shift += 1;
    }

    /// The counts as they are reported. Steps are not shorter than the clock of a trace of `clock_ticks`.
    pub(crate) fn finish(mut self, clock_ticks: u32, has_results: bool) -> Course {
        while 1 << self.shift < clock_ticks {
            self.double();
        }
        let of = |figure: fn(&Counts) -> u64| self.counts.iter().map(figure).collect();
        Course {
            step_s: f64::from(1_u32 << self.shift) / f64::from(TICKS_A_SECOND),
            rows: of(|counts| counts.rows),
            reads: of(|counts| counts.reads),
            hits: if has_results { of(|counts| counts.hits) } else { Vec::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_grow_until_they_are_few_and_lose_nothing() {
        let mut steps = Steps::new();
        for at in 0..10_000 {
            steps.count(at, at % 2 == 0, at % 4 == 0);
        }
        let course = steps.finish(1, true);
        assert!(course.rows.len() <= MOST_STEPS && course.rows.len() > MOST_STEPS / 4);
        let sum = |counts: &[u64]| counts.iter().sum::<u64>();
        assert_eq!(
            (sum(&course.rows), sum(&course.reads), sum(&course.hits)),
            (10_000, 5000, 2500)
        );
        assert!((course.step_s - 2.0).abs() < 1e-9, "32 ticks: {}", course.step_s);
        assert!(course.rows[..312].iter().all(|rows| *rows == 32));
    }

    #[test]
    fn a_clock_of_whole_seconds_has_no_empty_steps_between_them() {
        let mut steps = Steps::new();
        for second in 0..20 {
            steps.count(second * TICKS_A_SECOND, true, false);
        }
        let course = steps.finish(TICKS_A_SECOND, false);
        assert_eq!((course.step_s, course.rows), (1.0, vec![1; 20]));
        assert!(course.hits.is_empty());
    }
}
