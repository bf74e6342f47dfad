//! Many changes in one transaction, which is committed once.

use larder_store::{DeleteDone, Put, Result, SetDone};

use super::Database;
use super::session::{RecordSession, check_key};

/// The most entries of one transaction. A transaction keeps its changes in memory until it ends, and keeps others out.
const MAX_ENTRIES: usize = 1024;

/// The most bytes of keys and values of one transaction, unless one entry alone is larger.
const MAX_BYTES: usize = 4 << 20;

impl<D: Database> RecordSession<D> {
    /// Stores many entries, with one commit for as many as one transaction takes.
    pub(super) fn store_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        let mut first = 0;
        while first < entries.len() {
            let len = part(&entries[first..]);
            self.store_part(&entries[first..first + len], first, done)?;
            first += len;
        }
        Ok(())
    }

    fn store_part(
        &mut self,
        entries: &[Put<'_>],
        first: usize,
        done: &mut SetDone<'_>,
    ) -> Result<()> {
        let records = &self.shared.records;
        let terms: Vec<_> = entries.iter().map(|put| records.terms(&put.options)).collect();
        let order = by_key(entries.len(), |i| entries[i].key);
        let mut outcomes = self.write(|change| {
            let mut outcomes = Vec::with_capacity(order.len());
            for i in &order {
                let Put { key, value, options } = &entries[*i];
                outcomes.push((
                    *i,
                    match check_key::<D>(key) {
                        Ok(()) => change.set(key, value, options.mode, terms[*i])?,
                        Err(refused) => Err(refused),
                    },
                ));
            }
            Ok(outcomes)
        })?;
        outcomes.sort_unstable_by_key(|(i, _)| *i);
        for (i, outcome) in outcomes {
            if outcome.as_ref().is_ok_and(|outcome| outcome.is_stored()) {
                self.counters.sets.add_one();
            }
            done(first + i, outcome);
        }
        Ok(())
    }

    /// Removes many entries, with one commit for as many as one transaction takes.
    pub(super) fn remove_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        for (n, part) in keys.chunks(MAX_ENTRIES).enumerate() {
            let order = by_key(part.len(), |i| part[i]);
            let mut outcomes = self.write(|change| {
                let mut outcomes = Vec::with_capacity(order.len());
                for i in &order {
                    outcomes.push((
                        *i,
                        match check_key::<D>(part[*i]) {
                            Ok(()) => Ok(change.delete(part[*i])?),
                            Err(refused) => Err(refused),
                        },
                    ));
                }
                Ok(outcomes)
            })?;
            outcomes.sort_unstable_by_key(|(i, _)| *i);
            for (i, outcome) in outcomes {
                if matches!(outcome, Ok(true)) {
                    self.counters.deletes.add_one();
                }
                done(n * MAX_ENTRIES + i, outcome);
            }
        }
        Ok(())
    }
}

/// The places of a batch in the order of their keys, and of equal keys in the order of the batch. Neighbours share pages.
/// Two batches lock the pages of a B-tree in the same order then, and seldom wait for each other in a circle.
fn by_key<'k>(len: usize, key: impl Fn(usize) -> &'k [u8]) -> Vec<usize> {
    let mut order: Vec<_> = (0..len).collect();
    order.sort_by_key(|i| key(*i));
    order
}

/// The number of the first entries that one transaction stores, at least one.
fn part(entries: &[Put<'_>]) -> usize {
    let mut sum = 0;
    let fits = |Put { key, value, .. }: &&Put<'_>| {
        sum += key.len() + value.len();
        sum <= MAX_BYTES
    };
    entries.iter().take(MAX_ENTRIES).take_while(fits).count().max(1)
}
