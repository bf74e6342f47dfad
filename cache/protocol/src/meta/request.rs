//! Requests of the meta protocol as a server receives them: a key and flags, of which some have an argument.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::key::MAX_KEY_LEN;
use crate::number::{parse_i64, parse_u64, push_i64, push_u64};
use crate::request::{Fault, Words};

/// The flags of all commands. `L` and `P` are hints to proxies, and a server ignores them.
const FLAGS: &[u8] = b"bcCDEfFhIJklLMNOPqRsStTuvx";

/// The longest opaque word of a request, in bytes.
const MAX_OPAQUE_LEN: usize = 32;

/// The key and the flags of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The key as it stands in the request.
    word: &'a [u8],
    /// The flags in the order of the request, in which they are answered.
    words: Words<'a>,
    /// The flags by their meaning.
    pub flags: RequestFlags,
}

/// The flags of a request by their meaning. Those that only ask for a part of the answer are not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags, as the protocol has them")]
pub struct RequestFlags {
    /// `b`: the key is in base 64.
    pub is_base64: bool,
    /// `q`: the most likely answer is left out.
    pub is_quiet: bool,
    /// `v`: the value is wanted.
    pub wants_value: bool,
    /// `h`, `l`: what the server knows of earlier reads is wanted.
    pub wants_past: bool,
    /// `I`: mark as out of date, in place of a removal or where the version is older.
    pub invalidates: bool,
    /// `x`: remove the value and keep the entry.
    pub drops_value: bool,
    /// `T`: the end of the entry.
    pub exptime: Option<i64>,
    /// `N`: make an absent entry, which ends then.
    pub vivify: Option<i64>,
    /// `R`: a reader is told to load the entry anew if its remaining TTL is at most this many seconds.
    pub recache_s: Option<i64>,
    /// `F`: the client's own flags.
    pub client_flags: u32,
    /// `C`: the version that the entry must have.
    pub version: Option<u64>,
    /// `E`: the version that the entry gets.
    pub new_version: Option<u64>,
    /// `J`: the number of an absent entry.
    pub initial: Option<u64>,
    /// `D`: the difference to the number.
    pub delta: Option<u64>,
    /// `M`: the mode of the command, by its first letter.
    pub mode: Option<u8>,
}

/// What a server knows of an entry, for the flags of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// `f`: the client's own flags.
    pub client_flags: u32,
    /// `c`: the version, or 0 where it is not known.
    pub version: u64,
    /// `t`: seconds left; -1 is for ever.
    pub ttl_s: i64,
    /// `s`: number of bytes of the value.
    pub len: usize,
    /// `l`: seconds since the last read.
    pub idle_s: u64,
    /// `h`: whether the entry was read before.
    pub was_hit: bool,
}

impl<'a> Request<'a> {
    /// Reads a key and the flags behind it. A flag of another command is ignored, as memcached ignores it.
    #[inline]
    pub(super) fn parse(mut words: Words<'a>) -> Result<Self, Fault> {
        let word = words.needed()?;
        Self::of(word, words)
    }

    /// Reads the flags behind a key and what else the command has before them.
    #[inline]
    pub(super) fn of(word: &'a [u8], words: Words<'a>) -> Result<Self, Fault> {
        let mut flags = RequestFlags::default();
        let mut seen = 0_u128;
        for word in words {
            let (letter, argument) = (word[0], &word[1..]);
            let bit = 1 << (letter & 127);
            if letter > 127 || !FLAGS.contains(&letter) {
                return Err(Fault::Flag);
            }
            if seen & bit != 0 {
                return Err(Fault::DuplicateFlag);
            }
            seen |= bit;
            flags.take(letter, argument)?;
        }
        Ok(Self { word, words, flags })
    }

    /// The key, for which `room` is needed where it is in base 64.
    ///
    /// # Errors
    ///
    /// The key is longer than a key may be, or not in base 64.
    #[inline]
    pub fn key<'k>(&self, room: &'k mut [u8; MAX_KEY_LEN]) -> Result<&'k [u8], Fault>
    where
        'a: 'k,
    {
        if !self.flags.is_base64 {
            return if self.word.len() > MAX_KEY_LEN { Err(Fault::Format) } else { Ok(self.word) };
        }
        // Three bytes become four, so a longer word cannot be a key, and the decoder would find no room for it.
        let len = STANDARD.decode_slice(self.word, room).map_err(|_| Fault::Base64)?;
        if len == 0 { Err(Fault::Base64) } else { Ok(&room[..len]) }
    }

    /// The key as it stands in the request.
    pub fn word(&self) -> &'a [u8] {
        self.word
    }

    /// The opaque word that the answer repeats.
    pub fn opaque(&self) -> Option<&'a [u8]> {
        self.words.into_iter().find_map(|word| word.strip_prefix(b"O"))
    }

    /// Whether this part of the answer is asked for.
    pub fn asks_for(&self, letter: u8) -> bool {
        self.words.into_iter().any(|word| word[0] == letter)
    }

    /// Writes the flags of an answer that only repeat the request: the opaque word, and the key where it is asked for.
    pub fn encode_own(&self, out: &mut Vec<u8>) {
        for word in self.words {
            self.encode_own_flag(out, word);
        }
    }

    /// Writes the flags of an answer that were asked for, each behind a blank. `told` are the flags of facts that the
    /// command tells; memcached ignores the others.
    #[inline]
    pub fn encode_flags(&self, out: &mut Vec<u8>, told: &[u8], facts: &Facts) {
        for word in self.words {
            let number = match word[0] {
                letter if !told.contains(&letter) => {
                    self.encode_own_flag(out, word);
                    continue;
                }
                b'f' => u64::from(facts.client_flags),
                b'c' => facts.version,
                b's' => facts.len as u64,
                b'h' => u64::from(facts.was_hit),
                b'l' => facts.idle_s,
                b't' => {
                    out.extend_from_slice(b" t");
                    push_i64(out, facts.ttl_s);
                    continue;
                }
                _ => {
                    self.encode_own_flag(out, word);
                    continue;
                }
            };
            out.extend_from_slice(&[b' ', word[0]]);
            push_u64(out, number);
        }
    }

    fn encode_own_flag(&self, out: &mut Vec<u8>, word: &[u8]) {
        match word[0] {
            b'O' => {
                out.push(b' ');
                out.extend_from_slice(word);
            }
            b'k' => {
                out.extend_from_slice(b" k");
                out.extend_from_slice(self.word);
                if self.flags.is_base64 {
                    out.extend_from_slice(b" b");
                }
            }
            _ => {}
        }
    }
}

impl RequestFlags {
    #[inline]
    fn take(&mut self, letter: u8, argument: &[u8]) -> Result<(), Fault> {
        let number = || parse_u64(argument).ok_or(Fault::Token);
        let time = || parse_i64(argument).ok_or(Fault::Token);
        match letter {
            b'b' => self.is_base64 = true,
            b'q' => self.is_quiet = true,
            b'v' => self.wants_value = true,
            b'h' | b'l' => self.wants_past = true,
            b'I' => self.invalidates = true,
            b'x' => self.drops_value = true,
            b'T' => self.exptime = Some(time()?),
            b'N' => self.vivify = Some(time()?),
            b'R' => self.recache_s = Some(time()?),
            b'F' => self.client_flags = u32::try_from(number()?).map_err(|_| Fault::Token)?,
            b'C' => self.version = Some(number()?),
            b'E' => self.new_version = Some(number()?),
            b'J' => self.initial = Some(number()?),
            b'D' => self.delta = Some(number()?),
            b'M' => self.mode = Some(*argument.first().ok_or(Fault::Token)?),
            b'O' if argument.len() > MAX_OPAQUE_LEN => return Err(Fault::Opaque),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &'static str) -> Result<Request<'static>, Fault> {
        Request::parse(Words(line.as_bytes()))
    }

    #[test]
    fn flags_are_answered_in_their_order() {
        let request = parse("a2V5 b c T30 O7x v k q t").unwrap();
        let mut room = [0; MAX_KEY_LEN];
        assert_eq!(request.key(&mut room), Ok(&b"key"[..]));
        assert!(request.flags.is_quiet && request.flags.wants_value);
        assert_eq!(request.opaque(), Some(&b"7x"[..]));
        assert_eq!(request.flags.exptime, Some(30));
        let mut out = Vec::new();
        request.encode_flags(&mut out, b"ct", &Facts { version: 9, ttl_s: -1, ..Facts::default() });
        assert_eq!(out, b" c9 O7x ka2V5 b t-1");
        out.clear();
        request.encode_own(&mut out);
        assert_eq!(out, b" O7x ka2V5 b");
    }

    #[test]
    fn faults_are_told_apart() {
        assert_eq!(parse("k z").unwrap_err(), Fault::Flag);
        assert_eq!(parse("k v v").unwrap_err(), Fault::DuplicateFlag);
        assert_eq!(parse("k Tx").unwrap_err(), Fault::Token);
        assert_eq!(parse("k O123456789012345678901234567890123").unwrap_err(), Fault::Opaque);
        let mut room = [0; MAX_KEY_LEN];
        assert_eq!(parse("*** b").unwrap().key(&mut room), Err(Fault::Base64));
    }

    #[test]
    fn a_key_in_base_64_may_be_as_long_as_any_other() {
        for (len, is_key) in [(MAX_KEY_LEN, true), (MAX_KEY_LEN + 1, false)] {
            let word = STANDARD.encode(vec![b'k'; len]);
            let line = format!("{word} b").leak();
            let mut room = [0; MAX_KEY_LEN];
            assert_eq!(parse(line).unwrap().key(&mut room).is_ok(), is_key, "{len}");
        }
    }
}
