//! Batches of writes: as few statements as the dialect allows, in one transaction.
//!
//! Neighbouring entries that are stored in any case go with one statement, in the order of their keys: two sessions that
//! lock the same rows in one order do not wait for each other in a circle. Other entries have a statement each.
//! So a batch of several statements locks its rows before it writes, on a server with locks of rows. A batch of one statement needs no transaction around it. Outcomes are told after the end of the transaction, because a
//! database may give it up and have it done again.

use larder_store::{DeleteDone, Error, Put, Result, SetDone, SetMode, SetOutcome};

use super::connection::{Connection, Transactions, Value};
use super::dialect::{Lookup, StoreMany};
use super::many::padded;
use super::operations::Operations;
use super::session::SqlSession;
use super::table::Table;

/// The most entries of one statement with arrays.
const MOST_IN_ARRAYS: usize = 1024;

/// The most bytes of one statement with many entries; an entry with more has a statement of its own.
const MOST_BYTES: usize = 4 << 20;

/// The most entries of one transaction, and the bytes from which on it gets no further entry. A longer one would keep many
/// rows locked, and a server may refuse it.
const MOST_AT_ONCE: usize = 4096;
const MOST_BYTES_AT_ONCE: usize = 16 << 20;

/// Bytes of a row beside its key and its value, at most.
const AROUND_ENTRY: usize = 64;

/// A part of a batch, which one operation stores.
enum Step {
    /// Entries that are stored in any case, by their places.
    Rows(Vec<usize>),
    /// Any other entry.
    One(usize),
}

/// The outcomes of entries, by their places. `None`: not known yet.
type Outcomes = Vec<Option<Result<SetOutcome>>>;

impl<C: Transactions> SqlSession<C> {
    /// Stores many entries, in as many transactions as their number and their bytes ask for.
    pub(super) fn store_batch(
        &mut self,
        entries: &[Put<'_>],
        done: &mut SetDone<'_>,
    ) -> Result<()> {
        parts(entries, |put| put.key.len() + put.value.len()).try_for_each(|(from, part)| {
            self.store_part(part, &mut |i, outcome| done(from + i, outcome))
        })
    }

    /// Stores the entries of one transaction.
    fn store_part(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        let Self { operations, connection, counters, .. } = self;
        let steps = steps(&operations.table, entries);
        let mut outcomes = Outcomes::new();
        let mut store = |connection: &mut dyn Connection| {
            outcomes.clear();
            outcomes.resize_with(entries.len(), || None);
            if steps.len() > 1 {
                operations.lock(connection, entries)?;
            }
            steps.iter().try_for_each(|step| {
                operations.store_step(connection, entries, step, &mut outcomes)
            })
        };
        match steps.len() {
            0 | 1 => store(connection)?,
            _ => connection.transaction(&mut store)?,
        }
        if steps.len() > 1 {
            count_transaction(operations);
        }
        for (i, (outcome, entry)) in outcomes.into_iter().zip(entries).enumerate() {
            let outcome = match outcome {
                Some(outcome) => outcome,
                // Only a key that is too long has no step.
                None => Err(operations.table.key_too_long(entry.key.len())),
            };
            if outcome.as_ref().is_ok_and(|outcome| outcome.is_stored()) {
                counters.sets.add_one();
            }
            done(i, outcome);
        }
        Ok(())
    }

    /// Removes many keys, in as many transactions.
    pub(super) fn delete_batch(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        parts(keys, |key| key.len()).try_for_each(|(from, part)| {
            self.delete_part(part, &mut |i, outcome| done(from + i, outcome))
        })
    }

    /// Removes the keys of one transaction.
    fn delete_part(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        let Self { operations, connection, counters, .. } = self;
        let table = &operations.table;
        let mut places: Vec<usize> =
            (0..keys.len()).filter(|i| table.check_key(keys[*i]).is_ok()).collect();
        // A stable sort: among equal keys the first comes first, and only the first can be there.
        places.sort_by_key(|i| keys[*i]);
        places.dedup_by_key(|i| keys[*i]);
        let wanted: Vec<&[u8]> = places.iter().map(|i| keys[*i]).collect();
        let mut was_there = Vec::new();
        let mut delete = |connection: &mut dyn Connection| {
            was_there.clear();
            was_there.resize(wanted.len(), false);
            operations.delete_all(connection, &wanted, &mut was_there)
        };
        match (wanted.len(), operations.table.statements.lookup) {
            (0, _) => {}
            (_, Lookup::Array) => delete(connection)?,
            _ => {
                connection.transaction(&mut delete)?;
                count_transaction(operations);
            }
        }
        let mut deleted = vec![false; keys.len()];
        for (place, was_there) in places.into_iter().zip(was_there) {
            deleted[place] = was_there;
        }
        for (i, (key, deleted)) in keys.iter().zip(deleted).enumerate() {
            counters.deletes.add(u64::from(deleted));
            done(i, operations.table.check_key(key).map(|()| deleted));
        }
        Ok(())
    }
}

/// The parts of a batch that are a transaction each, with the places of their first entries.
fn parts<T>(batch: &[T], len_of: impl Fn(&T) -> usize) -> impl Iterator<Item = (usize, &[T])> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = &batch[from..];
        let part = &rest[..at_once(rest.iter().map(&len_of))];
        let place = from;
        from += part.len();
        (!part.is_empty()).then_some((place, part))
    })
}

/// The number of entries of these lengths that one transaction takes; at least one, if there are any.
fn at_once(lens: impl Iterator<Item = usize>) -> usize {
    let mut bytes = 0;
    let has_room = |len: &usize| {
        let has_room = bytes < MOST_BYTES_AT_ONCE;
        bytes += len;
        has_room
    };
    lens.take(MOST_AT_ONCE).take_while(has_room).count()
}

/// Counts the beginning and the end of a transaction.
fn count_transaction(operations: &Operations) {
    operations.requests.sent.add(2);
}

/// The steps of a batch, in its order. Keys that are too long have no step.
fn steps(table: &Table, entries: &[Put<'_>]) -> Vec<Step> {
    let most = match table.statements.store_many {
        StoreMany::OneByOne => 1,
        StoreMany::Arrays => MOST_IN_ARRAYS,
        StoreMany::Lists(most) => most,
    };
    // The entries that fill a list may double its bytes.
    let most_bytes = MOST_BYTES.min(table.limits.value_len / 2);
    let mut steps = Vec::new();
    let (mut rows, mut n_bytes) = (Vec::new(), 0);
    for (i, Put { key, value, options }) in entries.iter().enumerate() {
        if table.check_key(key).is_err() {
            continue;
        }
        let len = key.len() + value.len() + AROUND_ENTRY;
        let is_plain = most > 1 && options.mode == SetMode::Set && len <= most_bytes;
        if !is_plain || rows.len() == most || n_bytes + len > most_bytes {
            end_rows(&mut rows, &mut steps);
            n_bytes = 0;
        }
        if is_plain {
            rows.push(i);
            n_bytes += len;
        } else {
            steps.push(Step::One(i));
        }
    }
    end_rows(&mut rows, &mut steps);
    steps
}

/// Makes a step of the rows so far, if there are any.
fn end_rows(rows: &mut Vec<usize>, steps: &mut Vec<Step>) {
    steps.extend(match rows[..] {
        [] => None,
        [one] => Some(Step::One(one)),
        _ => Some(Step::Rows(rows.clone())),
    });
    rows.clear();
}

impl Operations {
    /// Locks the rows of a batch in the order of their keys, where the dialect has a statement for it.
    fn lock(&self, connection: &mut dyn Connection, entries: &[Put<'_>]) -> Result<()> {
        let statements = &self.table.statements;
        let keys = entries.iter().map(|entry| entry.key);
        let mut keys: Vec<_> = keys.filter(|key| self.table.check_key(key).is_ok()).collect();
        if let Some(lock) = &statements.lock_in_order {
            self.requests.sent.add_one();
            connection.rows(lock, &[Value::Many(&keys)], &mut |_| Ok(()))?;
        }
        if let Lookup::List(most) = statements.lookup {
            keys.sort_unstable();
            for keys in keys.chunks(most) {
                self.requests.sent.add_one();
                let (statement, values) = padded(self.now(), keys);
                connection.rows(&statements.lock_many[statement], &values, &mut |_| Ok(()))?;
            }
        }
        Ok(())
    }

    /// Does one step of a batch. An entry that is refused has its outcome; any other error ends the batch.
    fn store_step(
        &mut self,
        connection: &mut dyn Connection,
        entries: &[Put<'_>],
        step: &Step,
        outcomes: &mut Outcomes,
    ) -> Result<()> {
        match step {
            Step::One(i) => {
                let Put { key, value, options } = &entries[*i];
                let outcome = match self.store(connection, key, value, options, Value::Null) {
                    Err(error) if !matches!(error, Error::ValueTooLarge { .. }) => {
                        return Err(error);
                    }
                    outcome => outcome,
                };
                outcomes[*i] = Some(outcome);
                Ok(())
            }
            Step::Rows(places) => self.store_rows(connection, entries, places, outcomes),
        }
    }

    /// Stores entries in any case, with one statement.
    fn store_rows(
        &mut self,
        connection: &mut dyn Connection,
        entries: &[Put<'_>],
        places: &[usize],
        outcomes: &mut Outcomes,
    ) -> Result<()> {
        let mut rows = Vec::with_capacity(places.len());
        for i in places {
            // Each has a version of its own: a reader of the first value of a key must not take it for the second.
            let version = self.next_version();
            outcomes[*i] = Some(Ok(SetOutcome::Stored(Some(version.unsigned_abs()))));
            rows.push((&entries[*i], version));
        }
        // The last of the rows with one key comes first, and stays.
        rows.reverse();
        rows.sort_by_key(|(entry, _)| entry.key);
        rows.dedup_by_key(|(entry, _)| entry.key);
        self.requests.sent.add_one();
        let statements = &self.table.statements;
        let deadline_ms = |entry: &Put<'_>| self.table.deadline_ms(entry.options.ttl);
        if let StoreMany::Lists(_) = statements.store_many {
            let n_rows = rows.len().next_power_of_two();
            // A row that comes again changes nothing, and the shortest costs least.
            if let Some(shortest) = rows.iter().min_by_key(|(entry, _)| entry.value.len()).copied()
            {
                rows.resize(n_rows, shortest);
            }
            let values = rows.iter().flat_map(|(entry, version)| {
                [
                    Value::Bytes(entry.key),
                    Value::Bytes(entry.value),
                    Value::Integer(*version),
                    deadline_ms(entry).map_or(Value::Null, Value::Integer),
                    Value::Integer(entry.options.flags.into()),
                ]
            });
            let values: Vec<_> = values.collect();
            connection.change(&statements.set_many[n_rows.ilog2() as usize], &values)?;
        } else {
            let keys: Vec<_> = rows.iter().map(|(entry, _)| entry.key).collect();
            let values: Vec<_> = rows.iter().map(|(entry, _)| entry.value).collect();
            let versions: Vec<_> = rows.iter().map(|(_, version)| Some(*version)).collect();
            let deadlines: Vec<_> = rows.iter().map(|(entry, _)| deadline_ms(entry)).collect();
            let flags: Vec<_> =
                rows.iter().map(|(entry, _)| Some(entry.options.flags.into())).collect();
            let values = [
                Value::Many(&keys),
                Value::Many(&values),
                Value::Integers(&versions),
                Value::Integers(&deadlines),
                Value::Integers(&flags),
            ];
            connection.change(&statements.set_many[0], &values)?;
        }
        Ok(())
    }

    /// Deletes keys, which differ and are sorted, and tells of each whether it was there.
    fn delete_all(
        &self,
        connection: &mut dyn Connection,
        keys: &[&[u8]],
        was_there: &mut [bool],
    ) -> Result<()> {
        let (statements, now) = (&self.table.statements, self.now());
        match statements.lookup {
            Lookup::Array => {
                self.requests.sent.add_one();
                let values = [now, Value::Many(keys)];
                connection.rows(&statements.delete_many[0], &values, &mut |row| {
                    mark(keys, row.bytes(0)?, was_there);
                    Ok(())
                })
            }
            Lookup::List(most) => {
                for (keys, was_there) in keys.chunks(most).zip(was_there.chunks_mut(most)) {
                    self.requests.sent.add(2);
                    let (statement, values) = padded(now, keys);
                    connection.rows(&statements.lock_many[statement], &values, &mut |row| {
                        mark(keys, row.bytes(0)?, was_there);
                        Ok(())
                    })?;
                    connection.change(&statements.delete_many[statement], &values)?;
                }
                Ok(())
            }
            Lookup::Joined(_) => {
                for (key, was_there) in keys.iter().zip(was_there) {
                    *was_there = self.delete(connection, key)?;
                }
                Ok(())
            }
        }
    }
}

/// Marks a key as there; `keys` are sorted.
fn mark(keys: &[&[u8]], key: &[u8], was_there: &mut [bool]) {
    if let Ok(place) = keys.binary_search(&key) {
        was_there[place] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_takes_so_many_entries_or_bytes_and_at_least_one() {
        let of = |n: usize, len: usize| at_once(std::iter::repeat_n(len, n));
        assert_eq!([of(1, 0), of(4096, 1), of(9000, 1)], [1, 4096, 4096]);
        assert_eq!(of(9000, 1 << 20), 16);
        assert_eq!(of(3, 100 << 20), 1);
    }
}
