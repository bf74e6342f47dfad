//! The sums of a run, as they are printed.

use std::fmt;
use std::time::Duration;

use crate::ledger::{Fault, Verdict};

/// The most faults that are told one by one.
const TOLD: usize = 20;

#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// The kills under load, and those of servers that were starting.
    pub(crate) kills: usize,
    pub(crate) early_kills: usize,
    /// The kills while another process had the file open.
    pub(crate) beside: usize,
    /// The acknowledged changes, and the answers that a change is refused.
    pub(crate) changes: u64,
    pub(crate) refused: u64,
    /// The changes that were in flight at a kill, and the keys that were found in a state of them.
    pub(crate) in_flight: usize,
    pub(crate) found: usize,
    /// The keys that were read after kills, and those that had an entry.
    pub(crate) reads: usize,
    pub(crate) entries: usize,
    /// From each start over the same file to the first right answer.
    pub(crate) warm: Vec<Duration>,
    pub(crate) evictions: u64,
    pub(crate) faults: Vec<Fault>,
}

impl Figures {
    fn count(&self, verdict: Verdict) -> usize {
        self.faults.iter().filter(|fault| fault.verdict == verdict).count()
    }

    /// The time to be warm that this share of the starts does not exceed.
    fn warm_ms(&self, percent: usize) -> f64 {
        let mut warm = self.warm.clone();
        warm.sort_unstable();
        let rank = (warm.len() * percent).div_ceil(100).max(1);
        warm.get(rank - 1).map_or(0.0, |warm| warm.as_secs_f64() * 1000.0)
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, early_kills, beside, changes, refused, in_flight, .. } = self;
        let Self { found, reads, entries, evictions, faults, .. } = self;
        let [wrong, older, missing, version] =
            [Verdict::Wrong, Verdict::Older, Verdict::Missing, Verdict::Version]
                .map(|verdict| self.count(verdict));
        let [median, most, longest] = [50, 99, 100].map(|percent| self.warm_ms(percent));
        writeln!(
            out,
            "{kills} kills under load, {beside} beside another process; {early_kills} kills of starting servers"
        )?;
        writeln!(
            out,
            "{changes} changes acknowledged, {refused} refused; {in_flight} in flight at a kill, {found} found done"
        )?;
        writeln!(
            out,
            "{reads} keys read after kills, {entries} with an entry; {evictions} evictions"
        )?;
        writeln!(
            out,
            "{wrong} wrong, {older} older than acknowledged, {missing} missing, {version} of another version"
        )?;
        writeln!(
            out,
            "warm after {median:.1} ms (median), {most:.1} ms (99 %), {longest:.1} ms (longest)"
        )?;
        for fault in faults.iter().take(TOLD) {
            writeln!(out, "{:?}: {}", fault.verdict, fault.told)?;
        }
        Ok(())
    }
}
