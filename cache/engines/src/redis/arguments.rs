//! Arguments of commands: TTLs, the conditions of a set, and the numbers of a count.

use std::time::Duration;

use larder_store::{Delta, Initial, SetMode, SetOptions};

use crate::decimal::Digits;

/// The longest TTL that is sent, in milliseconds: a server adds the current time, in 63 bits.
const LONGEST_TTL_MS: u64 = 1 << 62;

/// The arguments of the script that counts.
#[derive(Debug)]
pub(super) struct Counting {
    sign: &'static [u8],
    by: Digits,
    initial: Option<Digits>,
    ttl: Option<(&'static [u8], Digits)>,
}

impl Counting {
    pub(super) fn new(delta: Delta, absent: Option<Initial>) -> Self {
        let (sign, by): (&[u8], u64) = match delta {
            Delta::Up(by) => (b"+", by),
            Delta::Down(by) => (b"-", by),
        };
        let ttl = absent.and_then(|initial| initial.ttl).map(millis);
        Self {
            sign,
            by: Digits::new(by),
            initial: absent.map(|initial| Digits::new(initial.number)),
            ttl: ttl.map(|(unit, number)| (unit, Digits::new(number))),
        }
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &[u8]> {
        let number = [self.sign, self.by.as_bytes()].into_iter();
        let initial = self.initial.iter().map(Digits::as_bytes);
        let ttl = self.ttl.iter().flat_map(|(unit, number)| [*unit, number.as_bytes()]);
        number.chain(initial).chain(ttl)
    }
}

/// A TTL as the option of a command and its number. A server refuses a TTL of 0, but not a date that has passed.
pub(super) fn millis(ttl: Duration) -> (&'static [u8], u64) {
    if ttl.is_zero() { (b"PXAT", 1) } else { (b"PX", whole_millis(ttl)) }
}

/// A TTL in milliseconds for a server, rounded up.
pub(super) fn whole_millis(ttl: Duration) -> u64 {
    let millis = u64::try_from(ttl.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    millis.min(LONGEST_TTL_MS)
}

/// The words of a `SET` behind its value.
#[derive(Debug)]
pub(super) struct SetTail {
    ttl: Option<(&'static [u8], Digits)>,
    condition: Option<&'static [u8]>,
}

impl SetTail {
    /// The words of a mode that needs no script.
    pub(super) fn of(options: &SetOptions) -> Self {
        let ttl = options.ttl.map(millis).map(|(unit, number)| (unit, Digits::new(number)));
        let condition: Option<&[u8]> = match options.mode {
            SetMode::Add => Some(b"NX"),
            SetMode::Replace => Some(b"XX"),
            _ => None,
        };
        Self { ttl, condition }
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &[u8]> {
        let ttl = self.ttl.iter().flat_map(|(unit, number)| [*unit, number.as_bytes()]);
        ttl.chain(self.condition)
    }
}
