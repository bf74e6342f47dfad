//! The keys in use over time, from the last level of the sample.

use larder_report::WorkingSet;

use crate::sequence::Sequence;
use crate::step::{Step, TICKS_A_SECOND};

/// The steps of the whole time are at least half of these, unless the clock is coarser.
const MOST_STEPS: u32 = 60;

/// The rows of a tick, where a trace has no times.
pub(crate) const ROWS_A_TICK: u64 = 64;

/// The keys that are used in each step of time. The sequence has the share `keys` of all keys. Steps are not shorter than
/// `clock_ticks`.
pub(crate) fn working_set(
    sequence: &Sequence,
    keys: f64,
    clock_ticks: u32,
    has_times: bool,
) -> Option<WorkingSet> {
    let end = sequence.steps.iter().map(|step| end_of(step, has_times)).max()?;
    let mut length = 1_u32;
    while end / length >= MOST_STEPS || length < clock_ticks {
        length = length.checked_mul(2)?;
    }
    let mut seen = Seen::new(sequence.n_keys(), (end / length) as usize + 1);
    for step in &sequence.steps {
        for number in step.at / length..=end_of(step, has_times) / length {
            seen.note(step, number as usize);
        }
    }
    let scaled = |counts: &[u64]| -> Vec<f64> {
        counts.iter().map(|count| crate::curve::float(*count) / keys).collect()
    };
    let bytes = |counts: &[u64]| if sequence.has_sizes { scaled(counts) } else { Vec::new() };
    Some(WorkingSet {
        step_s: has_times.then(|| f64::from(length) / f64::from(TICKS_A_SECOND)),
        step_rows: (!has_times).then(|| u64::from(length) * ROWS_A_TICK),
        keys: scaled(&seen.keys),
        bytes: bytes(&seen.bytes),
        keys_so_far: scaled(&so_far(&seen.new_keys)),
        bytes_so_far: bytes(&so_far(&seen.new_bytes)),
    })
}

/// The last tick of a step. Without times a run lasts as long as it has rows.
fn end_of(step: &Step, has_times: bool) -> u32 {
    let rows = if has_times { 0 } else { u64::from(step.more) };
    step.at.saturating_add(u32::try_from(rows / ROWS_A_TICK).unwrap_or(u32::MAX))
}

/// Sums from the first on.
fn so_far(counts: &[u64]) -> Vec<u64> {
    let add = |sum: &mut u64, count: &u64| {
        *sum += count;
        Some(*sum)
    };
    counts.iter().scan(0, add).collect()
}

/// What was seen in each step.
struct Seen {
    /// By key, one more than the latest step in which it was used.
    latest: Vec<usize>,
    keys: Vec<u64>,
    bytes: Vec<u64>,
    new_keys: Vec<u64>,
    new_bytes: Vec<u64>,
}

impl Seen {
    fn new(n_keys: usize, n_steps: usize) -> Self {
        let none = vec![0; n_steps];
        Self {
            latest: vec![0; n_keys],
            keys: none.clone(),
            bytes: none.clone(),
            new_keys: none.clone(),
            new_bytes: none,
        }
    }

    fn note(&mut self, step: &Step, at: usize) {
        let latest = &mut self.latest[step.key as usize];
        if *latest == 0 {
            self.new_keys[at] += 1;
            self.new_bytes[at] += u64::from(step.size);
        }
        // A clock that was set back does not make a key new.
        if *latest < at + 1 {
            self.keys[at] += 1;
            self.bytes[at] += u64::from(step.size);
            *latest = at + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(uses: &[(u32, u32)]) -> Sequence {
        let step =
            |(at, key): &(u32, u32)| Step { at: *at, key: *key, size: 10, ..Step::default() };
        let n_keys = uses.iter().map(|(_, key)| *key as usize + 1).max().unwrap_or(0);
        Sequence {
            steps: uses.iter().map(step).collect(),
            hashes: vec![0; n_keys],
            has_sizes: true,
            ..Sequence::default()
        }
    }

    #[test]
    fn a_key_counts_once_in_each_step_and_once_so_far() {
        let uses = [(0, 0), (0, 0), (5, 1), (16, 0), (40, 2), (41, 1)];
        let set = working_set(&sequence(&uses), 0.5, TICKS_A_SECOND, true).unwrap();
        assert_eq!((set.step_s, set.step_rows), (Some(1.0), None));
        assert_eq!(set.keys, [4.0, 2.0, 4.0]);
        assert_eq!(set.bytes, [40.0, 20.0, 40.0]);
        assert_eq!(set.keys_so_far, [4.0, 4.0, 6.0]);
        assert_eq!(set.bytes_so_far, [40.0, 40.0, 60.0]);
    }

    #[test]
    fn a_run_without_times_lasts_as_long_as_it_has_rows() {
        let mut two = sequence(&[(0, 0), (200, 1)]);
        two.steps[0].more = 199 * 64;
        let of = |has_times| working_set(&two, 1.0, 1, has_times).unwrap().keys;
        assert!(of(false).iter().all(|keys| (*keys - 1.0).abs() < 1e-9), "{:?}", of(false));
        assert!((of(true).iter().sum::<f64>() - 2.0).abs() < 1e-9, "{:?}", of(true));
    }

    #[test]
    fn steps_are_as_long_as_the_trace_needs() {
        let uses: Vec<(u32, u32)> = (0..10_000).map(|at| (at, at % 7)).collect();
        let set = working_set(&sequence(&uses), 1.0, 1, false).unwrap();
        assert!((30..=60).contains(&set.keys.len()), "{}", set.keys.len());
        assert_eq!((set.step_s, set.step_rows), (None, Some(256 * ROWS_A_TICK)));
        assert!(set.keys.iter().all(|keys| (*keys - 7.0).abs() < 1e-9));
        assert_eq!(working_set(&sequence(&[]), 1.0, 1, false), None);
    }
}
