//! Many keys at once: one request and one answer for each node.

use std::ops::Range;

use larder_protocol::{meta, text};
use larder_store::{Meta, Result};

use super::connection::{Connection, Wire};
use super::exchange::{AnswerHeader, meta_header, text_header};

/// The longest request: a node must have read all of it before its answers fill the connection. Two sides that each
/// wait for the other to read would wait for ever. Longer batches take several requests.
pub(super) const REQUEST_LEN: usize = 32 * 1024;

/// The most bytes that a key takes in a request besides itself: `mg  v f c t\r\n`.
const AROUND_KEY: usize = 13;

/// The part of a batch for one node.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The part's keys, as indices into the batch.
    indices: Vec<usize>,
    /// The range of `indices` that is asked for and not answered; the keys before it are done.
    asked: Range<usize>,
    /// The asked keys that the answer has passed over so far.
    skipped: Vec<usize>,
}

impl Part {
    pub(super) fn clear(&mut self) {
        self.indices.clear();
        self.asked = 0..0;
    }

    pub(super) fn push(&mut self, index: usize) {
        self.indices.push(index);
    }

    /// Takes the next keys to ask for: at most `most`, with at most `max_len` bytes in the request, but at least one.
    pub(super) fn take(
        &mut self,
        most: usize,
        max_len: usize,
        len_of: impl Fn(usize) -> usize,
    ) -> &[usize] {
        let start = self.asked.end;
        let (mut end, mut len) = (start, 0);
        for index in self.indices[start..].iter().take(most) {
            len += len_of(*index);
            if len > max_len && end > start {
                break;
            }
            end += 1;
        }
        self.asked = start..end;
        &self.indices[start..end]
    }

    /// The keys whose answers are due, which no longer are.
    pub(super) fn answered(&mut self) -> &[usize] {
        let asked = self.asked.clone();
        self.asked.start = self.asked.end;
        &self.indices[asked]
    }

    /// Whether keys are left to ask for.
    pub(super) fn is_open(&self) -> bool {
        self.asked.end < self.indices.len()
    }

    /// Whether an answer is still due.
    pub(super) fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }
}

impl Connection {
    /// Asks for as many more keys of a part as fit a request.
    pub(super) fn ask_many(&mut self, keys: &[&[u8]], part: &mut Part) -> Result<()> {
        let asked = part.take(usize::MAX, REQUEST_LEN, |index| keys[index].len() + AROUND_KEY);
        match self.terms.wire {
            Wire::Text => {
                text::get::encode(&mut self.request, asked.iter().map(|index| keys[*index]));
            }
            Wire::Meta => {
                for index in asked {
                    meta::get::encode(&mut self.request, keys[*index]);
                }
            }
        }
        self.send()
    }

    /// Reads the answer to [`ask_many`](Self::ask_many). A value that does not fit the buffer goes through `large`.
    pub(super) fn answer_many(
        &mut self,
        keys: &[&[u8]],
        part: &mut Part,
        large: &mut Vec<u8>,
        hit: &mut dyn FnMut(usize, &[u8], Meta),
    ) -> Result<()> {
        let asked = &part.indices[part.asked.clone()];
        match self.terms.wire {
            Wire::Text => self.answer_text(keys, asked, &mut part.skipped, large, hit)?,
            Wire::Meta => self.answer_meta(asked, large, hit)?,
        }
        part.asked.start = part.asked.end;
        Ok(())
    }

    /// Reads the values of the keys that exist, and then an end. A server answers in the order of the request. A proxy
    /// joins the answers of several servers, and where keys are missing in one answer the order differs.
    fn answer_text(
        &mut self,
        keys: &[&[u8]],
        asked: &[usize],
        skipped: &mut Vec<usize>,
        large: &mut Vec<u8>,
        hit: &mut dyn FnMut(usize, &[u8], Meta),
    ) -> Result<()> {
        skipped.clear();
        let mut next = 0;
        while let Some(header) = self.receive(|input| {
            text_header(input, |found| {
                let mut places = (next..asked.len()).chain(skipped.iter().copied());
                places.find(|place| keys[asked[*place]] == found)
            })
        })? {
            let place = header.place;
            if place < next {
                skipped.retain(|skipped| *skipped != place);
            } else {
                skipped.extend(next..place);
                next = place + 1;
            }
            self.answer_value(asked[place], &header, large, hit)?;
        }
        Ok(())
    }

    /// Reads a value or a miss for every key, in the order of the request.
    fn answer_meta(
        &mut self,
        asked: &[usize],
        large: &mut Vec<u8>,
        hit: &mut dyn FnMut(usize, &[u8], Meta),
    ) -> Result<()> {
        for index in asked {
            if let Some(header) = self.receive(meta_header)? {
                self.answer_value(*index, &header, large, hit)?;
            }
        }
        Ok(())
    }

    fn answer_value(
        &mut self,
        index: usize,
        header: &AnswerHeader,
        large: &mut Vec<u8>,
        hit: &mut dyn FnMut(usize, &[u8], Meta),
    ) -> Result<()> {
        if let Some(value) = self.received_value(header.len, b"\r\n")? {
            hit(index, value, header.meta);
        } else {
            large.clear();
            self.receive_value(header.len, b"\r\n", large)?;
            hit(index, large, header.meta);
        }
        Ok(())
    }
}
