//! Tags: entries that end together, in one step, however many they are.
//!
//! The name of a tag is the key of a counter, an entry of the stack itself. An entry with tags has a stamp of each: the
//! number of its counter when the write of the entry began ([`form`]). It holds while all counters still have these numbers
//! ([`judge`]). So the end of a tag is one step of its counter, and no clock is asked. An absent counter ends its entries
//! too. A counter that is made anew begins at a random number, so no older entry comes back with it ([`number`]).
//!
//! Writers read the counters in the lowest tier, because a stamp from an older copy would make an entry that is gone at once.
//! Readers take the copies above, and hear of steps as of any write: by `l1_ttl`, or by the channel.
//!
//! With `write=behind` this holds as well. A counter is never written behind; a value that waits has its stamps already.

mod end;
mod form;
mod judge;
mod label;
mod number;

use std::mem::take;

use larder_store::layer::{Call, CallKind, Keys};
use larder_store::{Delta, Error, Put, Result, SetDone, SetMode, SetOptions, SetOutcome};

pub(crate) use self::end::{
    Ended, TRIES, changes_again_and_again, end_below, end_one_below, remove_gone, unknown,
};
pub(crate) use self::form::PLAIN_LEN;
pub(crate) use self::judge::{
    Judged, are_current, covers, judge, judge_lowest, judge_many, len, len_without_tags,
};
use self::label::Label;
pub(crate) use self::label::MAX_COUNTER_KEY_LEN;
pub use self::label::MAX_TAGS;
pub(crate) use self::number::Standing;
use self::number::{DELETES, EXPIRES};
use crate::SCHEME;
use crate::batch::Batch;
use crate::session::{Stack, TiersSession};
use crate::write;

/// The buffers of a session for tags, kept to reuse their memory.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    key: Vec<u8>,
    text: Vec<u8>,
    batch: Box<Batch>,
    /// The stored form of a value that is written.
    stored: Vec<u8>,
}

/// Buffers beyond this size are given back after each call.
const KEPT_BYTES: usize = 1 << 20;

/// A tag of an entry, and the number of its counter as of the start of the entry's write.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    label: Label,
    number: u64,
}

impl TiersSession {
    /// Stores a value that ends with each of these tags, as [`Session::set`](larder_store::Session::set) does. A set in any
    /// mode without tags takes the tags away.
    ///
    /// An entry has at most [`MAX_TAGS`], each with a name of 1 to [`MAX_TAG_LEN`](larder_store::MAX_TAG_LEN) bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] in a stack without `tags=on`; [`Error::InvalidTag`] and [`Error::InvalidOptions`] for names and
    /// numbers beyond the limits.
    pub fn set_tagged(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tags: &[&[u8]],
    ) -> Result<SetOutcome> {
        let labels = self.labels(tags)?;
        self.traced(&Call::set(key, value, options), |it| match stamps(&mut it.stack, &labels) {
            Ok(stamps) => it.set_stamped(key, value, options, &stamps),
            Err(error) => {
                // To the key it is a write that has failed.
                let put = Put { key, value, options: *options };
                write::put(&mut it.stack, &put, |_| Err(error))
            }
        })
    }

    /// Ends every entry with this tag, in all processes and hosts, as a delete of each would. It is one step of a counter.
    /// The value of a load that began before is gone too. A value that its caller read elsewhere before, and sets now, is not.
    ///
    /// # Errors
    ///
    /// As of a delete of one key; [`Error::Unsupported`] in a stack without `tags=on`; [`Error::InvalidTag`].
    pub fn delete_tag(&mut self, tag: &[u8]) -> Result<()> {
        self.step(tag, "delete_tag", DELETES)
    }

    /// Makes every entry with this tag one whose TTL is over: with a time of grace, loaders still have it. Without `grace`, or
    /// above a lowest tier that cannot count, this is [`delete_tag`](Self::delete_tag).
    ///
    /// An entry that no load finds is kept until its own end.
    ///
    /// # Errors
    ///
    /// As [`delete_tag`](Self::delete_tag).
    pub fn expire_tag(&mut self, tag: &[u8]) -> Result<()> {
        let keeps = !self.stack.rules.grace.is_zero();
        self.step(tag, "expire_tag", if keeps { EXPIRES } else { DELETES })
    }

    fn step(&mut self, tag: &[u8], operation: &'static str, step: u64) -> Result<()> {
        let [label] = &self.labels(&[tag])?[..] else { return Ok(()) };
        let key = label.key();
        let call = Call::once(CallKind::Delete, operation, Keys::One(&key));
        self.traced(&call, |it| {
            let stack = &mut it.stack;
            let counts = write::apart(stack).0.tier.capabilities.incr;
            if counts && write::step(stack, &key, Delta::Up(step))?.is_some() {
                return Ok(());
            }
            // Without a counter below, the entries are gone, but other hosts may still have it above. A tier that cannot count
            // loses the counter: the next one begins elsewhere.
            write::delete(stack, &key).map(drop)
        })
    }

    /// The labels of these tags, in a stack that has tags.
    fn labels(&self, tags: &[&[u8]]) -> Result<Vec<Label>> {
        if !self.stack.rules.tags {
            let operation = "a tag in a stack without `tags=on`";
            return Err(Error::Unsupported { engine: SCHEME, operation });
        }
        Label::of_all(tags)
    }

    /// The stamps of these tags as of now.
    pub(crate) fn stamps(&mut self, tags: &[&[u8]]) -> Result<Vec<Stamp>> {
        if tags.is_empty() {
            return Ok(Vec::new());
        }
        let labels = self.labels(tags)?;
        stamps(&mut self.stack, &labels)
    }

    /// Refuses tags that no entry of this stack can have.
    pub(crate) fn check_tags(&self, tags: &[&[u8]]) -> Result<()> {
        if tags.is_empty() { Ok(()) } else { self.labels(tags).map(drop) }
    }

    pub(crate) fn set_stamped(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        stamps: &[Stamp],
    ) -> Result<SetOutcome> {
        self.with_stored(value, stamps, |stack, stored| write::set(stack, key, stored, options))
    }

    /// Calls `write` with the stored form of a value.
    pub(crate) fn with_stored<T>(
        &mut self,
        value: &[u8],
        stamps: &[Stamp],
        write: impl FnOnce(&mut Stack, &[u8]) -> Result<T>,
    ) -> Result<T> {
        if !self.stack.rules.tags {
            return write(&mut self.stack, value);
        }
        let mut stored = take(&mut self.stack.tags.stored);
        stored.clear();
        form(value, stamps, &mut stored);
        let result = write(&mut self.stack, &stored);
        let more = stored.len() - value.len();
        if stored.capacity() <= KEPT_BYTES {
            self.stack.tags.stored = stored;
        }
        result.map_err(|error| told(error, more))
    }
}

/// Stores many values without tags.
pub(crate) fn set_many(
    stack: &mut Stack,
    entries: &[Put<'_>],
    done: &mut SetDone<'_>,
) -> Result<()> {
    if !stack.rules.tags {
        return write::set_many(stack, entries, done);
    }
    let forms = Forms::of(entries.iter().map(|put| put.value), &[]);
    let puts: Vec<_> =
        entries.iter().zip(forms.iter()).map(|(put, value)| Put { value, ..*put }).collect();
    write::set_many(stack, &puts, &mut |i, outcome| {
        done(i, outcome.map_err(|error| forms.told(error)));
    })
}

/// Writes the stored form of a value behind the bytes in `room`.
fn form(value: &[u8], stamps: &[Stamp], room: &mut Vec<u8>) {
    room.reserve(value.len() + PLAIN_LEN);
    let each = stamps.iter().map(|stamp| (stamp.label.as_bytes(), stamp.number));
    form::write(value, each, room);
}

/// The stored forms of many values with the same tags.
pub(crate) struct Forms {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The bytes that each form has behind its value.
    more: usize,
}

impl Forms {
    pub(crate) fn of<'v>(values: impl Iterator<Item = &'v [u8]>, stamps: &[Stamp]) -> Self {
        let (mut bytes, mut more) = (Vec::new(), 0);
        let ends = values.map(|value| {
            let begin = bytes.len();
            form(value, stamps, &mut bytes);
            more = bytes.len() - begin - value.len();
            bytes.len()
        });
        let ends = ends.collect();
        Self { bytes, ends, more }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }

    /// The error of a write of a form, in terms of the value.
    pub(crate) fn told(&self, error: Error) -> Error {
        told(error, self.more)
    }
}

/// The error of a write in terms of the value, whose stored form is so much longer.
fn told(error: Error, more: usize) -> Error {
    match error {
        Error::ValueTooLarge { engine, len, limit } => Error::ValueTooLarge {
            engine,
            len: len.saturating_sub(more),
            limit: limit.saturating_sub(more),
        },
        error => error,
    }
}

/// The numbers of the counters in the lowest tier, which are made where there are none.
fn stamps(stack: &mut Stack, labels: &[Label]) -> Result<Vec<Stamp>> {
    let keys: Vec<Vec<u8>> = labels.iter().map(Label::key).collect();
    let asked: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut numbers = vec![None; labels.len()];
    for _ in 0..TRIES {
        let mut bad = Vec::new();
        let lowest = &mut *write::apart(stack).0.session;
        lowest.get_many(&asked, &mut |i, text, _| {
            numbers[i] = number::read(text);
            if numbers[i].is_none() {
                bad.push(i);
            }
        })?;
        for i in bad {
            write::delete(stack, &keys[i])?;
        }
        for (number, key) in numbers.iter_mut().zip(&keys).filter(|(number, _)| number.is_none()) {
            *number = make(stack, key)?;
        }
        let known: Option<Vec<u64>> = numbers.iter().copied().collect();
        if let Some(known) = known {
            let stamp = |(label, number): (&Label, u64)| Stamp { label: label.clone(), number };
            return Ok(labels.iter().zip(known).map(stamp).collect());
        }
    }
    Err(changes_again_and_again())
}

/// Makes a counter; `None` where another caller has made it.
fn make(stack: &mut Stack, key: &[u8]) -> Result<Option<u64>> {
    let number = number::draw();
    let text = number.to_string();
    let options = SetOptions { mode: SetMode::Add, ..SetOptions::default() };
    let put = Put { key, value: text.as_bytes(), options };
    let outcome =
        write::put(stack, &put, |lowest| lowest.session.set(put.key, put.value, &put.options))?;
    Ok(outcome.is_stored().then_some(number))
}
