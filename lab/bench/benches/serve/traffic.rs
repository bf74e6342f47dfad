//! The bytes of requests and answers, of memcached's text protocol.
//!
//! All keys have the same length, and so have all values of a load. A value is a window of one long tape of random
//! bytes, and its key tells where the window begins. So a value is checked without a copy of it, and written
//! without a draw.

use crate::Result;

/// The beginning of each key. The number of the key follows, as eight letters.
const PREFIX: &[u8; 8] = b"bench-s/";

/// The length of a key.
const KEY: usize = PREFIX.len() + 8;

/// The bytes at each end of a value that are compared with the tape. The middle of a longer value is only counted.
pub(crate) const COMPARED: usize = 64;

/// The beginning of a value's header; the key follows.
const VALUE: &[u8; 6] = b"VALUE ";
/// The answer to a set, the end of the answer to a get, and the end of a value.
pub(crate) const STORED: &[u8; 8] = b"STORED\r\n";
pub(crate) const END: &[u8; 5] = b"END\r\n";
pub(crate) const LINE_END: &[u8; 2] = b"\r\n";

/// The keys and values of a load.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) n_keys: usize,
    pub(crate) value_bytes: usize,
    tape: Vec<u8>,
    /// The header of a value after its key.
    answered: Vec<u8>,
    /// The line of a set after its key.
    sets: Vec<u8>,
}

impl Traffic {
    pub(crate) fn new(n_keys: usize, value_bytes: usize) -> Self {
        // SplitMix64, from a fixed seed: every run has the same values.
        let mut state = 0_u64;
        let mut word = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)).to_le_bytes()
        };
        let n_words = (n_keys + value_bytes).div_ceil(8);
        Self {
            n_keys,
            value_bytes,
            tape: (0..n_words).flat_map(|_| word()).collect(),
            answered: format!(" 0 {value_bytes}\r\n").into_bytes(),
            sets: format!(" 0 0 {value_bytes}\r\n").into_bytes(),
        }
    }

    /// The value of a key.
    pub(crate) fn value(&self, key: u32) -> &[u8] {
        let begin = key as usize;
        &self.tape[begin..begin + self.value_bytes]
    }

    /// The length of the header of a value.
    pub(crate) fn header_len(&self) -> usize {
        VALUE.len() + KEY + self.answered.len()
    }

    /// Appends the line of a set; the value and an end of line follow it.
    pub(crate) fn write_set_line(&self, key: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(b"set ");
        out.extend_from_slice(PREFIX);
        out.extend_from_slice(&letters(key));
        out.extend_from_slice(&self.sets);
    }

    /// Appends a set.
    pub(crate) fn write_set(&self, key: u32, out: &mut Vec<u8>) {
        self.write_set_line(key, out);
        out.extend_from_slice(self.value(key));
        out.extend_from_slice(LINE_END);
    }

    /// The answer to a get of these keys, as a server gives it.
    pub(crate) fn answer(&self, keys: impl Iterator<Item = u32>) -> Vec<u8> {
        let mut out = Vec::new();
        for key in keys {
            out.extend_from_slice(VALUE);
            out.extend_from_slice(PREFIX);
            out.extend_from_slice(&letters(key));
            out.extend_from_slice(&self.answered);
            out.extend_from_slice(self.value(key));
            out.extend_from_slice(LINE_END);
        }
        out.extend_from_slice(END);
        out
    }

    /// The key of a header, which the bytes begin with.
    #[inline]
    pub(crate) fn key_of_header(&self, bytes: &[u8]) -> Result<u32> {
        let (begin, rest) = bytes.split_at(VALUE.len() + PREFIX.len());
        let (name, rest) = rest.split_at(8);
        let is_header = begin[..VALUE.len()] == *VALUE
            && begin[VALUE.len()..] == *PREFIX
            && rest.starts_with(&self.answered);
        let key = name.try_into().ok().and_then(number).filter(|key| (*key as usize) < self.n_keys);
        match key {
            Some(key) if is_header => Ok(key),
            _ => Err(unexpected("the header of a value", bytes)),
        }
    }
}

/// Appends a get of these keys.
#[inline]
pub(crate) fn write_get(keys: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"get");
    for key in keys {
        out.push(b' ');
        out.extend_from_slice(PREFIX);
        out.extend_from_slice(&letters(key));
    }
    out.extend_from_slice(LINE_END);
}

/// The length of a line without a variable part, with which the bytes begin. `None` says that its end has not arrived.
#[inline]
pub(crate) fn line(wanted: &'static [u8], bytes: &[u8]) -> Result<Option<usize>> {
    if bytes.len() < wanted.len() {
        return Ok(None);
    }
    expect(wanted, bytes).map(|()| Some(wanted.len()))
}

/// An error where the bytes do not begin with these.
#[inline]
pub(crate) fn expect(wanted: &[u8], bytes: &[u8]) -> Result<()> {
    if bytes.starts_with(wanted) {
        return Ok(());
    }
    Err(unexpected(&format!("`{}`", wanted.escape_ascii()), bytes))
}

#[cold]
fn unexpected(wanted: &str, found: &[u8]) -> Box<dyn std::error::Error> {
    let found = found[..found.len().min(80)].escape_ascii();
    format!("an answer has `{found}` in place of {wanted}").into()
}

/// The bits of a letter that tell its number.
const LOW: u64 = 0x0f0f_0f0f_0f0f_0f0f;
/// The first letter, in each byte.
const FIRST: u64 = 0x4040_4040_4040_4040;

/// Four bits of the number in each letter. All letters are made at once, because a client makes millions of keys.
#[inline]
fn letters(number: u32) -> [u8; 8] {
    let wide = u64::from(number);
    let wide = (wide | (wide << 16)) & 0x0000_ffff_0000_ffff;
    let wide = (wide | (wide << 8)) & 0x00ff_00ff_00ff_00ff;
    let wide = (wide | (wide << 4)) & LOW;
    (wide | FIRST).to_be_bytes()
}

/// The number of these letters.
#[inline]
fn number(letters: [u8; 8]) -> Option<u32> {
    let wide = u64::from_be_bytes(letters);
    if wide & !LOW != FIRST {
        return None;
    }
    let wide = wide & LOW;
    let wide = (wide | (wide >> 4)) & 0x00ff_00ff_00ff_00ff;
    let wide = (wide | (wide >> 8)) & 0x0000_ffff_0000_ffff;
    u32::try_from((wide | (wide >> 16)) & 0xffff_ffff).ok()
}
