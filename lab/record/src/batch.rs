//! Rows on their way from a thread that follows connections to the thread that writes.

use larder_workload::trace::{Key, OtherKeys, Outcome, Row, Verb};

/// The size of a batch that is handed over, in bytes.
pub(crate) const BATCH_BYTES: usize = 256 << 10;

/// Stands for a number that is not known.
pub(crate) const NONE: u32 = u32::MAX;

/// The latency of an answer that never came.
pub(crate) const NEVER: u64 = u64::MAX;

/// Rows, in the order of their answers.
#[derive(Debug, Default)]
pub struct Batch {
    rows: Vec<Stored>,
    /// Keys in clear, one behind the other.
    clear: Vec<u8>,
    /// Operations meanwhile on keys that are not in the sample.
    others: OtherKeys,
}

/// A row without references, and without the padding of options.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored {
    pub(crate) time_ns: u64,
    pub(crate) request: u64,
    pub(crate) hash: u64,
    pub(crate) amount: u64,
    /// [`NEVER`] without an answer.
    pub(crate) latency_ns: u64,
    pub(crate) connection: u32,
    pub(crate) key_size: u32,
    pub(crate) value_size: u32,
    pub(crate) ttl_s: u32,
    /// The length of the key in clear, which is in the batch's bytes; [`NONE`] where it is hashed.
    pub(crate) clear_len: u32,
    pub(crate) operation: Verb,
    pub(crate) result: Option<Outcome>,
}

impl Batch {
    /// Adds a row, with its key in clear where it has one.
    #[inline]
    pub(crate) fn push(&mut self, row: Stored, clear: Option<&[u8]>) {
        self.rows.push(row);
        if let Some(key) = clear {
            self.clear.extend_from_slice(key);
        }
    }

    /// Notes an operation on a key that is not in the sample.
    #[inline]
    pub(crate) fn note_other(&mut self, result: Option<Outcome>) {
        self.others.operations += 1;
        self.others.hits += u64::from(result == Some(Outcome::Hit));
        self.others.misses += u64::from(result == Some(Outcome::Miss));
    }

    /// Operations on keys that are not in the sample.
    pub fn others(&self) -> OtherKeys {
        self.others
    }

    /// Adds the counts of another batch for such keys.
    pub(crate) fn add_others(&mut self, other: &Self) {
        self.others = self.others.plus(other.others);
    }

    /// Whether there are no rows and no counts.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.others.operations == 0
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Bytes of memory that the rows take.
    pub(crate) fn size_bytes(&self) -> usize {
        self.rows.len() * size_of::<Stored>() + self.clear.len()
    }

    /// Removes all rows, and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.clear.clear();
        self.others = OtherKeys::default();
    }

    /// The rows, in order.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let mut clear = &self.clear[..];
        self.rows.iter().map(move |row| {
            let key = match known(row.clear_len) {
                Some(len) => {
                    let (key, rest) = clear.split_at(clear.len().min(len as usize));
                    clear = rest;
                    Key::Bytes(key)
                }
                None => Key::Hash(row.hash),
            };
            row.with_key(key)
        })
    }
}

impl Stored {
    fn with_key<'a>(&self, key: Key<'a>) -> Row<'a> {
        let is_counting = matches!(self.operation, Verb::Incr | Verb::Decr);
        Row {
            time_us: Some(self.time_ns / 1000),
            connection: self.connection,
            request: self.request,
            operation: self.operation,
            key,
            key_size: known(self.key_size),
            value_size: known(self.value_size),
            ttl_s: known(self.ttl_s),
            amount: is_counting.then_some(self.amount),
            result: self.result,
            latency_ns: (self.latency_ns != NEVER).then_some(self.latency_ns),
        }
    }
}

fn known(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}
