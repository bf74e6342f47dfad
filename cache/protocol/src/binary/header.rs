//! The header of 24 bytes that every request and every answer begins with.
//!
//! Its source is section 2 of the Memcache Binary Protocol (`protocol-binary.txt`). All numbers have their highest byte
//! first.

use super::opcode::is_quiet;
use super::{HEADER_LEN, REPLY_MAGIC, Status};

/// The parts of a request's header that its answer repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// The command, one of [`opcode`](super::opcode).
    pub opcode: u8,
    /// The client's mark, by which it finds the request of an answer.
    pub opaque: u32,
}

impl Echo {
    /// Whether the command is a quiet variant.
    ///
    /// A quiet read leaves out the answer of a miss, any other quiet command the answer of success. Everything else is
    /// answered. The functions that write answers know this rule, so a server calls them in every case.
    #[inline]
    pub fn is_quiet(self) -> bool {
        is_quiet(self.opcode)
    }
}

/// The lengths of the parts behind a header, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) extras: usize,
    pub(super) key: usize,
    pub(super) value: usize,
}

/// The header of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestHeader {
    pub(super) echo: Echo,
    key_len: u16,
    extras_len: u8,
    pub(super) body_len: u32,
    /// The version that the entry must have, or 0.
    pub(super) version: u64,
}

impl RequestHeader {
    /// Reads a header whose magic byte has been checked. As memcached does, it ignores the type of data and the
    /// reserved bytes.
    #[inline]
    pub(super) fn parse(bytes: &[u8; HEADER_LEN]) -> Self {
        let [_, opcode, k0, k1, extras_len, _, _, _, b0, b1, b2, b3, rest @ ..] = *bytes;
        let [o0, o1, o2, o3, version @ ..] = rest;
        Self {
            echo: Echo { opcode, opaque: u32::from_be_bytes([o0, o1, o2, o3]) },
            key_len: u16::from_be_bytes([k0, k1]),
            extras_len,
            body_len: u32::from_be_bytes([b0, b1, b2, b3]),
            version: u64::from_be_bytes(version),
        }
    }

    /// The lengths of the parts; `None` where extras and key are longer than the body that has them.
    #[inline]
    pub(super) fn lengths(&self) -> Option<Lengths> {
        let (extras, key) = (usize::from(self.extras_len), usize::from(self.key_len));
        let value = usize::try_from(self.body_len).ok()?.checked_sub(extras + key)?;
        Some(Lengths { extras, key, value })
    }

    /// The version that the entry must have.
    #[inline]
    pub(super) fn condition(&self) -> Option<u64> {
        (self.version != 0).then_some(self.version)
    }
}

/// The extras of a request, whose length has been checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extras<'a>(pub(super) &'a [u8]);

impl Extras<'_> {
    /// The next four bytes as a number; 0 where a command is sent without its optional extras.
    #[inline]
    pub(super) fn next_u32(&mut self) -> u32 {
        let Some((number, rest)) = self.0.split_first_chunk() else { return 0 };
        self.0 = rest;
        u32::from_be_bytes(*number)
    }

    /// The next eight bytes as a number.
    #[inline]
    pub(super) fn next_u64(&mut self) -> u64 {
        u64::from(self.next_u32()) << 32 | u64::from(self.next_u32())
    }

    /// The end of an entry. The number has no sign, so no end has passed already: 0xffffffff is a date in 2106.
    #[inline]
    pub(super) fn next_exptime(&mut self) -> i64 {
        i64::from(self.next_u32())
    }
}

/// The header of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReplyHeader {
    pub(super) echo: Echo,
    pub(super) status: Status,
    pub(super) lengths: Lengths,
    /// The version of the entry, or 0.
    pub(super) version: u64,
}

impl ReplyHeader {
    /// The bytes of the header. A length beyond its field becomes the largest number of the field.
    #[inline]
    pub(super) fn bytes(&self) -> [u8; HEADER_LEN] {
        let Lengths { extras, key, value } = self.lengths;
        let body = extras.saturating_add(key).saturating_add(value);
        let mut bytes = [0; HEADER_LEN];
        bytes[0] = REPLY_MAGIC;
        bytes[1] = self.echo.opcode;
        bytes[2..4].copy_from_slice(&u16::try_from(key).unwrap_or(u16::MAX).to_be_bytes());
        bytes[4] = u8::try_from(extras).unwrap_or(u8::MAX);
        bytes[6..8].copy_from_slice(&self.status.code().to_be_bytes());
        bytes[8..12].copy_from_slice(&u32::try_from(body).unwrap_or(u32::MAX).to_be_bytes());
        bytes[12..16].copy_from_slice(&self.echo.opaque.to_be_bytes());
        bytes[16..].copy_from_slice(&self.version.to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_its_numbers_where_the_protocol_has_them() {
        let bytes = [
            0x80, 0x01, 0x00, 0x05, 0x08, 0, 0, 0, 0, 0, 0, 0x12, 0xde, 0xad, 0xbe, 0xef, 1, 2, 3,
            4, 5, 6, 7, 8,
        ];
        let header = RequestHeader::parse(&bytes);
        assert_eq!(header.echo, Echo { opcode: 1, opaque: 0xdead_beef });
        assert_eq!(header.lengths(), Some(Lengths { extras: 8, key: 5, value: 5 }));
        assert_eq!(header.condition(), Some(0x0102_0304_0506_0708));
    }

    #[test]
    fn the_largest_lengths_do_not_overflow() {
        let mut bytes = [0xff; HEADER_LEN];
        let value = u32::MAX as usize - 0xffff - 0xff;
        let lengths = Lengths { extras: 0xff, key: 0xffff, value };
        assert_eq!(RequestHeader::parse(&bytes).lengths(), Some(lengths));
        bytes[8..12].fill(0);
        assert_eq!(RequestHeader::parse(&bytes).lengths(), None);
        let echo = Echo { opcode: 0, opaque: 0 };
        let lengths = Lengths { extras: usize::MAX, key: usize::MAX, value: usize::MAX };
        let header = ReplyHeader { echo, status: Status::Success, lengths, version: 0 };
        assert_eq!(header.bytes()[8..12], [0xff; 4]);
    }
}
