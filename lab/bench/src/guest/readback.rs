//! A read-back by a guest: a plan of its own in a folder of its own, which the program of the turn carries out.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use larder_report::{Counts, Operation};
use larder_store::{Error, Result};

use super::executor::{GuestExecutor, Over, Turn, have_read, sources, write};
use super::script::Script;
use crate::measure::{KeyState, ReadBack, Tally};
use crate::plan::PlannedPoint;

/// The phases of such a plan.
const READ: usize = 0;
const SET_AGAIN: usize = 1;
const READ_AGAIN: usize = 2;

/// A read-back under way.
#[derive(Debug)]
pub(super) struct Back<'a> {
    executor: &'a mut GuestExecutor,
    script: Script,
    folder: PathBuf,
    point: &'a PlannedPoint,
    state: &'a KeyState,
    stop: &'a AtomicBool,
}

impl Drop for Back<'_> {
    fn drop(&mut self) {
        // A removal that fails is harmless: the folder of the store goes with the store.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl<'a> Back<'a> {
    /// Has the program read this plan; `None` when the run was stopped meanwhile.
    pub(super) fn begin(
        executor: &'a mut GuestExecutor,
        script: Script,
        point: &'a PlannedPoint,
        state: &'a KeyState,
        stop: &'a AtomicBool,
    ) -> Result<Option<Self>> {
        let folder = executor.shared.new_folder("back");
        executor.is_loaded = false;
        let back = Self { executor, script, folder, point, state, stop };
        let GuestExecutor { shared, ttl, .. } = &*back.executor;
        let plan_bytes = write(shared, &back.script, &back.folder, point, *ttl)?;
        let loaded = have_read(&mut back.executor.process, &back.folder, plan_bytes, stop)?;
        Ok(loaded.map(|_| back))
    }

    /// Reads the keys of the plan.
    pub(super) fn read(&mut self) -> Result<ReadBack> {
        self.read_in(READ)
    }

    /// Sets the keys of the plan's second phase once more, to these versions, and reads them again.
    pub(super) fn overwrite(&mut self, versions: &[(u32, u32)]) -> Result<ReadBack> {
        let evictions = self.executor.evictions;
        let mut found = ReadBack::default();
        let due = versions.len() as u64;
        let set = match self.run(SET_AGAIN, Operation::Set)? {
            None => return Ok(found),
            Some((Over::Done { .. }, Some(tally))) => {
                let failed = due.saturating_sub(tally.succeeded);
                if failed > 0 {
                    let words = || tally.first_error.unwrap_or_else(|| "a set failed".into());
                    found.overwrite_failed(failed, words);
                }
                failed == 0
            }
            Some(_) => {
                found.overwrite_failed(due, || "too many sets failed".into());
                false
            }
        };
        // Where a cache reports no evictions while keys are set again, its earlier reports stay valid.
        let is_told = self.executor.evictions.is_some();
        self.executor.evictions = self.executor.evictions.or(evictions);
        for (key, version) in versions {
            // After a failed set the key may have either value, or no value.
            if set {
                self.state.acknowledge(*key, *version);
            } else {
                self.state.forget(*key);
            }
        }
        if !set {
            return Ok(found);
        }
        let found = self.read_in(READ_AGAIN)?;
        if !is_told && found.counts.read_back_absent > 0 {
            self.executor.evictions = None;
        }
        Ok(found)
    }

    fn read_in(&mut self, number: usize) -> Result<ReadBack> {
        let Some((over, tally)) = self.run(number, Operation::Get)? else {
            return Ok(ReadBack::default());
        };
        over.or_failed(&self.executor.process)?;
        let Some(Tally { counts, first_error, wrong_examples, .. }) = tally else {
            return Ok(ReadBack::default());
        };
        if counts.errors > 0 {
            let what = first_error.unwrap_or_else(|| "a read failed".into());
            let engine = self.executor.shared.cache.engine.scheme;
            return Err(Error::Unavailable { engine, what, source: None });
        }
        let found = Counts {
            read_back: counts.ops,
            read_back_absent: counts.misses,
            read_back_wrong: counts.wrong,
            truncated: counts.truncated,
            stale: counts.stale,
            other_key: counts.other_key,
            damaged: counts.damaged,
            ..Counts::default()
        };
        Ok(ReadBack { counts: found, examples: wrong_examples })
    }

    /// Has the program carry out a phase, and returns the counts of its operation, unless it was given up. `None` when
    /// the run was stopped meanwhile.
    fn run(
        &mut self,
        number: usize,
        operation: Operation,
    ) -> Result<Option<(Over, Option<Tally>)>> {
        let Self { executor, script, folder, point, state, stop } = self;
        let sources = sources(&executor.shared, script, point, state);
        let turn = Turn { folder: &*folder, sources, number, longest: None };
        let Some((over, recorded)) = turn.carry_out(&mut executor.process, stop)? else {
            return Ok(None);
        };
        over.add_to(&mut executor.evictions);
        if matches!(over, Over::GaveUp(_)) {
            return Ok(Some((over, None)));
        }
        let (records, mut result) = recorded.map_err(|what| {
            executor.process.fault(&format!("gave an inconsistent answer: read back, {what}"))
        })?;
        script.uncertain.extend(records.iter().flat_map(|record| &record.uncertain));
        Ok(Some((over, Some(result.tallies.of(operation).clone()))))
    }
}
