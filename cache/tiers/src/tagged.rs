//! Sets with tags, and the end of all entries with one tag.

use std::mem::take;

use larder_store::layer::{Call, CallKind, Keys};
use larder_store::{Delta, Error, Put, Result, SetMode, SetOptions, SetOutcome};

use crate::SCHEME;
use crate::session::TiersSession;
use crate::stack::Stack;
use crate::tags::{self, DELETES, EXPIRES, Label, TagVersion};
use crate::write::{self, TRIES, changes_again_and_again, form, in_terms_of_value};

/// Buffers beyond this size are given back after each call.
const KEPT_BYTES: usize = 1 << 20;

impl TiersSession {
    /// Stores a value that ends with each of these tags, as [`Session::set`](larder_store::Session::set) does. A set in any
    /// mode without tags takes the tags away.
    ///
    /// An entry has at most [`MAX_TAGS`](crate::MAX_TAGS), each with a name of 1 to [`MAX_TAG_LEN`](larder_store::MAX_TAG_LEN) bytes.
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
        self.traced(&Call::set(key, value, options), |it| {
            match tag_versions(&mut it.stack, &labels) {
                Ok(tag_versions) => it.set_with_tags(key, value, options, &tag_versions),
                Err(error) => {
                    // To the key it is a write that has failed.
                    let put = Put { key, value, options: *options };
                    write::put(&mut it.stack, &put, |_| Err(error))
                }
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

    /// Marks every entry with this tag as expired: with a time of grace, loaders still have it. Without `grace`, or above a
    /// lowest tier that cannot count, this is [`delete_tag`](Self::delete_tag).
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
            let counts = stack.split().0.tier.capabilities.incr;
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

    /// The tag versions of these tags as of now.
    pub(crate) fn tag_versions(&mut self, tags: &[&[u8]]) -> Result<Vec<TagVersion>> {
        if tags.is_empty() {
            return Ok(Vec::new());
        }
        let labels = self.labels(tags)?;
        tag_versions(&mut self.stack, &labels)
    }

    /// Refuses tags that no entry of this stack can have.
    pub(crate) fn check_tags(&self, tags: &[&[u8]]) -> Result<()> {
        if tags.is_empty() { Ok(()) } else { self.labels(tags).map(drop) }
    }

    pub(crate) fn set_with_tags(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag_versions: &[TagVersion],
    ) -> Result<SetOutcome> {
        self.with_stored(value, tag_versions, |stack, stored| {
            write::set(stack, key, stored, options)
        })
    }

    /// Calls `write` with the stored form of a value.
    pub(crate) fn with_stored<T>(
        &mut self,
        value: &[u8],
        tag_versions: &[TagVersion],
        write: impl FnOnce(&mut Stack, &[u8]) -> Result<T>,
    ) -> Result<T> {
        if !self.stack.rules.tags {
            return write(&mut self.stack, value);
        }
        let mut stored = take(&mut self.stack.tags.stored);
        stored.clear();
        form(value, tag_versions, &mut stored);
        let result = write(&mut self.stack, &stored);
        let more = stored.len() - value.len();
        if stored.capacity() <= KEPT_BYTES {
            self.stack.tags.stored = stored;
        }
        result.map_err(|error| in_terms_of_value(error, more))
    }
}

/// The numbers of the counters in the lowest tier, which are made where there are none.
fn tag_versions(stack: &mut Stack, labels: &[Label]) -> Result<Vec<TagVersion>> {
    let keys: Vec<Vec<u8>> = labels.iter().map(Label::key).collect();
    let asked: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut numbers = vec![None; labels.len()];
    for _ in 0..TRIES {
        let mut bad = Vec::new();
        let lowest = &mut *stack.split().0.session;
        lowest.get_many(&asked, &mut |i, text, _| {
            numbers[i] = tags::read_number(text);
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
            let tag_version =
                |(label, number): (&Label, u64)| TagVersion { label: label.clone(), number };
            return Ok(labels.iter().zip(known).map(tag_version).collect());
        }
    }
    Err(changes_again_and_again())
}

/// Makes a counter; `None` where another caller has made it.
fn make(stack: &mut Stack, key: &[u8]) -> Result<Option<u64>> {
    let number = tags::draw_number();
    let text = number.to_string();
    let options = SetOptions { mode: SetMode::Add, ..SetOptions::default() };
    let put = Put { key, value: text.as_bytes(), options };
    let outcome =
        write::put(stack, &put, |lowest| lowest.session.set(put.key, put.value, &put.options))?;
    Ok(outcome.is_stored().then_some(number))
}
