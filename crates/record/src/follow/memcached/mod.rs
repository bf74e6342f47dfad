//! memcached's protocols. The first byte of a connection tells which: memcached itself decides so.

mod answer;
mod binary;
mod doubt;
mod header;
mod meta;
mod text;
mod words;

use larder_protocol::binary::REQUEST_MAGIC;
use larder_protocol::ttl;

use super::Lost;
use crate::batch::NONE;
use crate::desk::Desk;
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
    pub(super) fn requests(&mut self, bytes: &[u8], at: u64, desk: &mut Desk) -> Result<(), Lost> {
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
            State::Text(text) => text.requests(bytes, at, desk),
            State::Binary(binary) => binary.requests(bytes, at, desk),
        }
    }

    #[inline]
    pub(super) fn answers(&mut self, bytes: &[u8], at: u64, desk: &mut Desk) -> Result<(), Lost> {
        match &mut self.0 {
            // A server with too many connections says so before it is asked.
            State::Undecided(_) => Ok(()),
            State::Text(text) => text.answers(bytes, at, desk),
            State::Binary(binary) => binary.answers(bytes, at, desk),
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        match &self.0 {
            State::Undecided(_) => true,
            State::Text(text) => text.is_quiet(),
            State::Binary(binary) => binary.is_quiet(),
        }
    }

    pub(super) fn end(self, is_lost: bool, desk: &mut Desk) {
        match self.0 {
            State::Undecided(_) => {}
            State::Text(text) => text.end(is_lost, desk),
            State::Binary(binary) => binary.end(is_lost, desk),
        }
    }
}

/// The TTL in seconds that a number of a request means at this time; 0 is for ever. An end that has passed counts as a
/// second.
fn ttl_s(exptime: i64, now_ns: u64) -> u32 {
    let ttl = ttl::of_exptime(exptime, || now_ns / 1_000_000_000);
    ttl.map_or(0, |ttl| u32::try_from(ttl.as_secs()).unwrap_or(NONE - 1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_relative_whatever_the_request_says() {
        const NOW: u64 = 1_800_000_000;
        for (exptime, seconds) in
            [(0, 0), (60, 60), (-1, 1), (NOW.cast_signed() + 90, 90), (1_700_000_000, 1)]
        {
            assert_eq!(ttl_s(exptime, NOW * 1_000_000_000), seconds, "{exptime}");
        }
    }
}
