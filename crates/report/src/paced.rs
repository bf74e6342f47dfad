//! The part of a report on an open loop: whether a target kept up with the rate, and by what the targets are ranked.
//!
//! Where operations come whether the target is ready or not, all that keep up do as many a second, so the rate says
//! nothing of who is better. There is one rule instead: targets are ranked by the p99 of their latency from the planned
//! start, the median of the rounds. One that does not keep up has a latency that grows for as long as the run lasts, so it
//! stands behind those that do by the same rule.

use crate::model::{Cell, Operation, Sample};

/// The share of the operations that were due of which so many must have been carried out in time to say that a target kept
/// up. What is in flight when time ends a round is not done.
pub const KEPT_UP: f64 = 0.98;

impl Cell {
    /// Whether its operations came when they were due, whatever the target did.
    pub fn is_paced(&self) -> bool {
        self.paced.is_some()
    }

    /// The share of the operations that were due which it carried out in the time of the measurement, 0 to 1, whatever came
    /// of them; `None` in a closed loop.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub fn kept_up_share(&self) -> Option<f64> {
        let offered = self.paced.as_ref()?.offered_per_s;
        let wall_s = self.wall_s.filter(|wall_s| *wall_s > 0.0)?;
        (offered > 0.0).then(|| (self.counts.ops as f64 / wall_s / offered).min(1.0))
    }

    /// Whether it did what was due; `None` in a closed loop.
    pub fn kept_up(&self) -> Option<bool> {
        self.kept_up_share().map(|share| share >= KEPT_UP)
    }

    /// The share of the operations that were due which had not begun when time ended their round, 0 to 1; `None` in a closed
    /// loop.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub fn unbegun_share(&self) -> Option<f64> {
        let unbegun = self.paced.as_ref()?.unbegun;
        let due = self.counts.ops + unbegun;
        (due > 0).then(|| unbegun as f64 / due as f64)
    }

    /// Operations a second, of those that can miss the answered ones: what reports call its rate. `None` where nothing
    /// succeeded.
    pub fn rate(&self) -> Option<f64> {
        self.ops_per_s.and(self.answered_per_s.or(self.ops_per_s))
    }

    /// The 95 % interval of [`rate`](Self::rate).
    pub fn rate_ci95(&self) -> Option<[f64; 2]> {
        if self.answered_per_s.is_some() { self.answered_per_s_ci95 } else { self.ops_per_s_ci95 }
    }

    /// By how much it is better than others that hit as often, as a number of which more is better: its rate, or in an open
    /// loop how many times the p99 of its latency fits into a second.
    pub fn speed(&self) -> Option<f64> {
        if !self.is_paced() {
            return self.rate();
        }
        let complete = self.samples.iter().filter(|sample| sample.complete);
        let mut speeds: Vec<f64> =
            complete.filter_map(|sample| sample.speed(self.operation)).collect();
        speeds.sort_by(f64::total_cmp);
        let middle = speeds.len() / 2;
        match speeds.len() {
            0 => Some(per_second(self.latency_ns?.p99)),
            odd if odd % 2 == 1 => Some(speeds[middle]),
            _ => Some(f64::midpoint(speeds[middle - 1], speeds[middle])),
        }
    }
}

impl Sample {
    /// By how much this round of an operation was better than others, as [`Cell::speed`] has it; `None` where nothing
    /// succeeded.
    pub fn speed(&self, operation: Operation) -> Option<f64> {
        match self.paced {
            Some(_) => self.latency_ns.map(|latency| per_second(latency.p99)),
            None => self.answered_per_s(operation).or(Some(self.ops_per_s)),
        }
    }
}

/// How often a time fits into a second.
#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn per_second(ns: u64) -> f64 {
    1e9 / ns.max(1) as f64
}
