//! Reads of many entries by their keys.

use std::iter::{once, repeat_n};

use larder_store::{Meta, Result};

use super::connection::{Transactions, Value};
use super::dialect::Lookup;
use super::operations::entry;
use super::session::SqlSession;

/// The column of the key, in the answer of a statement that may find many.
pub(super) const KEY: usize = 4;

impl<C: Transactions> SqlSession<C> {
    /// Looks up keys with as few statements as the dialect allows.
    pub(super) fn look_up(
        &mut self,
        keys: &[&[u8]],
        hit: &mut dyn FnMut(usize, &[u8], Meta),
    ) -> Result<()> {
        let now_ms = self.table().now_ms();
        let now = Value::Integer(now_ms);
        match self.table().statements.lookup {
            Lookup::Array if keys.is_empty() => Ok(()),
            Lookup::Array => self.look_up_batch(0, &[now, Value::Many(keys)], now_ms, keys, hit),
            Lookup::List(most) | Lookup::Joined(most) => {
                keys.chunks(most).enumerate().try_for_each(|(n, batch)| {
                    let (statement, values) = padded(now, batch);
                    let mut hit_in_all =
                        |place, value: &[u8], meta| hit(n * most + place, value, meta);
                    self.look_up_batch(statement, &values, now_ms, batch, &mut hit_in_all)
                })
            }
        }
    }

    /// Looks up keys with one statement. Unless the answer has places, it has each key once, however often it is asked
    /// for.
    fn look_up_batch(
        &mut self,
        statement: usize,
        values: &[Value<'_>],
        now_ms: i64,
        keys: &[&[u8]],
        hit: &mut dyn FnMut(usize, &[u8], Meta),
    ) -> Result<()> {
        let Self { operations, connection, places, counters, .. } = self;
        let table = &operations.table;
        operations.requests.sent.add_one();
        let gives_places = matches!(table.statements.lookup, Lookup::Joined(_));
        if !gives_places {
            places.clear();
            places.extend(0..keys.len());
            places.sort_unstable_by_key(|place| keys[*place]);
        }
        let mut n_hits = 0;
        let mut hit = |place, value: &[u8], meta| {
            n_hits += 1;
            hit(place, value, meta);
        };
        connection.rows(&table.statements.get_many[statement], values, &mut |row| {
            let (value, meta) = entry(row, now_ms)?;
            if gives_places {
                let place = row.integer(KEY)?.and_then(|place| usize::try_from(place).ok());
                hit(place.unwrap_or_default(), value, meta);
            } else {
                for place in places_of(row.bytes(KEY)?, keys, places) {
                    hit(*place, value, meta);
                }
            }
            Ok(())
        })?;
        counters.hits.add(n_hits);
        counters.misses.add((keys.len() as u64).saturating_sub(n_hits));
        Ok(())
    }
}

/// The place of the statement for a list of keys among those for 1, 2, 4 … keys, and its values.
pub(super) fn padded<'k>(now: Value<'k>, keys: &[&'k [u8]]) -> (usize, Vec<Value<'k>>) {
    let n_places = keys.len().next_power_of_two();
    let wanted = keys.iter().map(|key| Value::Bytes(key));
    let nothing = repeat_n(Value::Null, n_places - keys.len());
    (n_places.ilog2() as usize, once(now).chain(wanted).chain(nothing).collect())
}

/// The places of a key in a list of keys; `sorted` has the places in the order of the keys.
fn places_of<'s>(key: &[u8], keys: &[&[u8]], sorted: &'s [usize]) -> &'s [usize] {
    let first = sorted.partition_point(|place| keys[*place] < key);
    let behind = &sorted[first..];
    &behind[..behind.partition_point(|place| keys[*place] == key)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_asked_for_twice_has_two_places() {
        let keys: &[&[u8]] = &[b"b", b"a", b"b", b"c"];
        let sorted = [1, 0, 2, 3];
        assert_eq!(places_of(b"a", keys, &sorted), [1]);
        assert_eq!(places_of(b"b", keys, &sorted), [0, 2]);
        assert_eq!(places_of(b"bb", keys, &sorted), [0; 0]);
    }
}
