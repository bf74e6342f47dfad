//! Checks that run while the rounds go on, so that no user waits an hour for figures that are no result.
//!
//! The checks run between the turns, where nothing is measured, and for one point only, so their cost does not grow
//! with the sweep. Their findings are for the person who waits; the run records what all checks find in the end.

use std::collections::BTreeSet;

use larder_report::{Finding, Operation, Point, Severity};

use super::TargetSlot;
use super::record::Recorder;
use super::samples::Samples;
use crate::observer::{Event, Observer};
use larder_analysis::check;

/// The parts by which a finding is recognised in a later round: its text has figures in it, which change with every
/// round.
type Key = (String, Severity, Option<String>, Option<Point>, Option<Operation>);

/// Tells an observer the findings of checks, each finding once.
pub(super) struct EarlyChecks<'a> {
    observer: &'a dyn Observer,
    reported: BTreeSet<Key>,
}

impl<'a> EarlyChecks<'a> {
    pub(super) fn new(observer: &'a dyn Observer) -> Self {
        Self { observer, reported: BTreeSet::new() }
    }

    /// Checks a point at which another round is over.
    pub(super) fn check_point(
        &mut self,
        recorder: &Recorder<'_>,
        at: usize,
        slots: &[TargetSlot],
        samples: &Samples,
    ) {
        for check in check::run_early(&recorder.so_far(slots, samples, at)) {
            if self.reported.insert(key(&check)) {
                let of_check = |slot: &&TargetSlot| {
                    check.target.as_ref().is_some_and(|url| *url == slot.planned().url.to_string())
                };
                let slot = slots.iter().find(of_check);
                let target = slot.map(|slot| slot.planned().name.as_str());
                self.observer.notice(Event::Fired { target, check: &check });
            }
        }
    }
}

fn key(check: &Finding) -> Key {
    let Finding { id, severity, target, point, operation, .. } = check.clone();
    (id, severity, target, point, operation)
}
