//! The part of a report on an open loop: whether a target kept up with the rate, and the figure that ranks the targets.
//!
//! Where operations arrive independently of the target, all targets that keep up reach the same rate, so the rate does
//! not rank them. Instead, targets are ranked by the p99 of their latency from the planned start, the median of the
//! rounds. The latency of a target that does not keep up grows with the length of the run. So it ranks behind the
//! others by the same rule.

use crate::model::{Cell, Operation, Sample};

/// The least share of the due operations that a target must complete in time to have kept up. Operations in flight at
/// the end of a round are not complete.
pub const KEPT_UP: f64 = 0.98;

impl Cell {
    /// Whether its operations arrived at planned times, independently of the target.
    pub fn is_paced(&self) -> bool {
        self.paced.is_some()
    }

    /// The share of the due operations that were completed in the time of the measurement, 0 to 1, with any result.
    /// `None` in a closed loop.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub fn kept_up_share(&self) -> Option<f64> {
        let offered = self.paced.as_ref()?.offered_per_s;
        let wall_s = self.wall_s.filter(|wall_s| *wall_s > 0.0)?;
        (offered > 0.0).then(|| (self.counts.ops as f64 / wall_s / offered).min(1.0))
    }

    /// Whether it kept up with the rate; `None` in a closed loop.
    pub fn kept_up(&self) -> Option<bool> {
        self.kept_up_share().map(|share| share >= KEPT_UP)
    }

    /// The share of the due operations that had not begun when time ended their round, 0 to 1; `None` in a closed loop.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub fn unbegun_share(&self) -> Option<f64> {
        let not_started = self.paced.as_ref()?.not_started;
        let due = self.counts.ops + not_started;
        (due > 0).then(|| not_started as f64 / due as f64)
    }

    /// The rate that reports show: operations a second, or the answered ones for operations that can miss. `None`
    /// without a success.
    pub fn rate(&self) -> Option<f64> {
        self.ops_per_s.and(self.answered_per_s.or(self.ops_per_s))
    }

    /// The 95 % interval of [`rate`](Self::rate).
    pub fn rate_ci95(&self) -> Option<[f64; 2]> {
        if self.answered_per_s.is_some() { self.answered_per_s_ci95 } else { self.ops_per_s_ci95 }
    }

    /// The figure that ranks targets with equal hit ratios, of which more is better. It is the rate, or in an open loop
    /// the inverse of the p99 of its latency.
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
    /// The figure that ranks this round of an operation, as in [`Cell::speed`]; `None` without a success.
    pub fn speed(&self, operation: Operation) -> Option<f64> {
        match self.paced {
            Some(_) => self.latency_ns.map(|latency| per_second(latency.p99)),
            None => self.answered_per_s(operation).or(Some(self.ops_per_s)),
        }
    }
}

/// The inverse of a time, for each second.
#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn per_second(ns: u64) -> f64 {
    1e9 / ns.max(1) as f64
}
