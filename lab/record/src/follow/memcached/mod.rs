//! memcached's protocols. The first byte of a connection decides which, as in memcached itself.

mod ambiguous;
mod answer;
mod answer_line;
mod binary;
mod exchange;
mod header;
mod meta;
mod request;
mod text;
mod ttl;

use larder_protocol::binary::REQUEST_MAGIC;

use super::StopReason;
use crate::recorder::Recorder;
use binary::Binary;
use text::Text;

/// A connection to memcached.
#[derive(Debug)]
pub(super) struct Memcached(State);

#[derive(Debug)]
enum State {
    /// Nothing has come yet, on the connection of this number.
    Undecided(u32),
    Text(Box<Text>),
    Binary(Box<Binary>),
}

impl Memcached {
    pub(super) fn new(connection: u32) -> Self {
        Self(State::Undecided(connection))
    }

    #[inline]
    pub(super) fn requests(
        &mut self,
        bytes: &[u8],
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        if let State::Undecided(connection) = self.0
            && let Some(first) = bytes.first()
        {
            self.0 = match *first {
                REQUEST_MAGIC => State::Binary(Box::new(Binary::new(connection))),
                _ => State::Text(Box::new(Text::new(connection))),
            };
        }
        match &mut self.0 {
            State::Undecided(_) => Ok(()),
            State::Text(text) => text.requests(bytes, at, recorder),
            State::Binary(binary) => binary.requests(bytes, at, recorder),
        }
    }

    #[inline]
    pub(super) fn answers(
        &mut self,
        bytes: &[u8],
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        match &mut self.0 {
            // A server with too many connections says so before the first request.
            State::Undecided(_) => Ok(()),
            State::Text(text) => text.answers(bytes, at, recorder),
            State::Binary(binary) => binary.answers(bytes, at, recorder),
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        match &self.0 {
            State::Undecided(_) => true,
            State::Text(text) => text.is_quiet(),
            State::Binary(binary) => binary.is_quiet(),
        }
    }

    pub(super) fn end(self, is_lost: bool, recorder: &mut Recorder) {
        match self.0 {
            State::Undecided(_) => {}
            State::Text(text) => text.end(is_lost, recorder),
            State::Binary(binary) => binary.end(is_lost, recorder),
        }
    }
}
