//! The stored forms of values in a stack with tags.

use larder_store::{Error, Put, Result, SetDone};

use super::set_many;
use crate::stack::Stack;
use crate::tags::{self, PLAIN_LEN, TagVersion};

/// Stores many values without tags.
pub(crate) fn set_many_plain(
    stack: &mut Stack,
    entries: &[Put<'_>],
    done: &mut SetDone<'_>,
) -> Result<()> {
    if !stack.rules.tags {
        return set_many(stack, entries, done);
    }
    let forms = Forms::of(entries.iter().map(|put| put.value), &[]);
    let puts: Vec<_> =
        entries.iter().zip(forms.iter()).map(|(put, value)| Put { value, ..*put }).collect();
    set_many(stack, &puts, &mut |i, outcome| {
        done(i, outcome.map_err(|error| forms.in_terms_of_value(error)));
    })
}

/// Writes the stored form of a value after the bytes in `out`.
pub(crate) fn form(value: &[u8], tag_versions: &[TagVersion], out: &mut Vec<u8>) {
    out.reserve(value.len() + PLAIN_LEN);
    let each =
        tag_versions.iter().map(|tag_version| (tag_version.label.as_bytes(), tag_version.number));
    tags::write(value, each, out);
}

/// The stored forms of many values with the same tags.
pub(crate) struct Forms {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The bytes that each form has behind its value.
    more: usize,
}

impl Forms {
    pub(crate) fn of<'v>(
        values: impl Iterator<Item = &'v [u8]>,
        tag_versions: &[TagVersion],
    ) -> Self {
        let (mut bytes, mut more) = (Vec::new(), 0);
        let ends = values.map(|value| {
            let begin = bytes.len();
            form(value, tag_versions, &mut bytes);
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
    pub(crate) fn in_terms_of_value(&self, error: Error) -> Error {
        in_terms_of_value(error, self.more)
    }
}

/// The error of a write in terms of the value, whose stored form is longer by `more` bytes.
pub(crate) fn in_terms_of_value(error: Error, more: usize) -> Error {
    match error {
        Error::ValueTooLarge { engine, len, limit } => Error::ValueTooLarge {
            engine,
            len: len.saturating_sub(more),
            limit: limit.saturating_sub(more),
        },
        error => error,
    }
}
