//! Records of binary formats, all of one length.

use std::io::{BufRead, Read};

use super::error::TraceFault;
use super::sink::Stop;

/// A reader of records of `N` bytes.
pub(super) struct Records<'a, const N: usize> {
    input: &'a mut dyn BufRead,
    /// What a record is called in messages.
    name: &'static str,
    bytes: Vec<u8>,
    offset: u64,
}

impl<'a, const N: usize> Records<'a, N> {
    pub(super) fn new(input: &'a mut dyn BufRead, name: &'static str) -> Self {
        Self { input, name, bytes: Vec::with_capacity(N), offset: 0 }
    }

    /// The next record, and its place.
    pub(super) fn next(&mut self) -> Result<Option<(u64, [u8; N])>, Stop> {
        let offset = self.offset;
        self.bytes.clear();
        let len = self.input.take(N as u64).read_to_end(&mut self.bytes)?;
        self.offset += len as u64;
        match <[u8; N]>::try_from(self.bytes.as_slice()) {
            Ok(record) => Ok(Some((offset, record))),
            Err(_) if len == 0 => Ok(None),
            Err(_) => {
                let name = self.name;
                let reason = format!("a {name} has {N} bytes, but {len} are left: cut off?");
                Err(TraceFault::Byte { offset, reason }.into())
            }
        }
    }
}
