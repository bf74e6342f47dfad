//! Many keys at once: one request and one answer for each node.

use std::ops::Range;

use larder_protocol::{meta, text};
use larder_store::{Meta, Result};

use super::connection::{Connection, Wire};
use super::exchange::{AnswerHeader, meta_header, text_header};

/// The longest request: a node must have read all of it before its answers fill the connection. Two sides that each
/// wait for the other to read would wait for ever. Longer batches take several requests.
const REQUEST_LEN: usize = 32 * 1024;

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
        let open = &part.indices[part.asked.end..];
        let mut len = 0;
        let fits = |index: &&usize| {
            len += keys[**index].len() + AROUND_KEY;
            len <= REQUEST_LEN
        };
        let asked = &open[..open.iter().take_while(fits).count()];
        match self.terms.wire {
            Wire::Text => {
                text::get::encode_gets(&mut self.request, asked.iter().map(|index| keys[*index]));
            }
            Wire::Meta => {
                for index in asked {
                    meta::get::encode(&mut self.request, keys[*index]);
                }
            }
        }
        part.asked = part.asked.end..part.asked.end + asked.len();
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
            self.receive_value(header.len, b"\r\n", large)?;
            hit(index, large, header.meta);
        }
        Ok(())
    }
}
