//! Many keys at once: one request and one answer a node.

use std::ops::Range;

use larder_protocol::{meta, text};
use larder_store::{Error, Meta, Result};

use super::SCHEME;
use super::connection::{Connection, Wire};
use super::exchange::{Header, meta_header, text_header};

/// A request is not longer than this, so that a node has read all of it before its answers fill the connection:
/// two that both wait for the other to read would wait for ever. Longer batches take several requests.
const REQUEST_LEN: usize = 32 * 1024;

/// What a key takes in a request besides itself, at most: `mg  v f c t q O4294967295\r\n`.
const AROUND_KEY: usize = 32;

/// The part of a batch that one node has.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// Which of the keys.
    indices: Vec<usize>,
    /// Which of `indices` have been asked for and not answered; what is before them is done.
    asked: Range<usize>,
}

impl Part {
    pub(super) fn clear(&mut self) {
        self.indices.clear();
        self.asked = 0..0;
    }

    pub(super) fn push(&mut self, index: usize) {
        self.indices.push(index);
    }

    /// Whether there is more to ask for.
    pub(super) fn is_open(&self) -> bool {
        self.asked.end < self.indices.len()
    }

    /// Whether an answer is to come.
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
                    let opaque = u32::try_from(*index).map_err(|_| too_many(keys.len()))?;
                    meta::get::encode_quiet(&mut self.request, keys[*index], opaque);
                }
                meta::noop::encode(&mut self.request);
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
        // A server answers in the order of the request and leaves out what it has not.
        let mut waiting = &part.indices[part.asked.clone()];
        while let Some(header) = self.next_header(keys, waiting)? {
            let index = waiting[header.place];
            waiting = &waiting[header.place + 1..];
            if let Some(value) = self.received_value(header.len, b"\r\n")? {
                hit(index, value, header.meta);
            } else {
                self.receive_value(header.len, b"\r\n", large)?;
                hit(index, large, header.meta);
            }
        }
        part.asked.start = part.asked.end;
        Ok(())
    }

    /// The next value's header, with its place among the indices that wait for theirs; `None` at the end.
    fn next_header(&mut self, keys: &[&[u8]], waiting: &[usize]) -> Result<Option<Header>> {
        let place = |is_it: &dyn Fn(usize) -> bool| waiting.iter().position(|index| is_it(*index));
        match self.terms.wire {
            Wire::Text => {
                self.receive(|input| text_header(input, |key| place(&|index| keys[index] == key)))
            }
            Wire::Meta => self.receive(|input| {
                meta_header(input, |opaque| place(&|index| Some(index) == opaque))
            }),
        }
    }
}

fn too_many(n: usize) -> Error {
    Error::InvalidOptions { engine: SCHEME, reason: format!("{n} keys in one batch > 2^32") }
}
