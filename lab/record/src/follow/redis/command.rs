//! The commands that use keys as a cache does, and those that change the course of a connection.

use larder_workload::trace::{Outcome, Verb};

use crate::batch::NONE;

/// The answer that a request expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// A value, or nothing: `GET`.
    Read,
    /// Many of these: `MGET`.
    ReadMany,
    /// The value that was there, which is removed: `GETDEL`.
    ReadDelete,
    /// The value that was there, in whose place another is stored: `GETSET`.
    ReadWrite,
    /// Whether a value was stored: `SET`, `SETNX`.
    Write,
    /// A number or a length, if it was stored: `INCR`, `APPEND`.
    Number,
    /// The number of keys for which this is the result, and the result for the other keys: `DEL`.
    Tally(Outcome, Outcome),
    /// Anything.
    Other,
    Multi,
    Exec,
    Discard,
    /// The database from before.
    Select(u32),
    /// Confirmations of this number of subscriptions.
    Subscribe(u32),
    /// Confirmations that this many subscriptions ended; 0 is all of their kind.
    Unsubscribe(Subscription, u32),
    Reset,
    /// `CLIENT REPLY OFF`, `SKIP` and `ON`.
    ReplyOff,
    ReplySkip,
    ReplyOn,
    /// A stream of all clients' commands: `MONITOR`.
    Monitor,
}

/// The kinds of subscriptions, each counted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subscription {
    Channel,
    Pattern,
    Shard,
}

/// The commands by the order of their words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// A key, then words without a meaning here.
    Key,
    /// Keys only.
    Keys,
    /// Keys and values in turns.
    Pairs,
    /// A key, a value, then options.
    Set,
    /// A key, a value.
    KeyValue,
    /// A key, a TTL, a value.
    KeyTimeValue,
    /// A key, a TTL, then words without a meaning here.
    KeyTime,
    /// A key, then options.
    GetEx,
    /// A key, an amount.
    KeyAmount,
    /// A number of a database.
    Select,
    /// A subcommand and its word.
    Client,
    /// Names of channels.
    Channels,
    /// Words without a meaning here.
    Other,
}

/// The unit of a TTL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Millis,
    /// Seconds since 1970.
    Date,
    /// Milliseconds since 1970.
    DateMillis,
}

impl Unit {
    /// The TTL in milliseconds at this time; 0 and below for an end that has passed.
    pub(super) fn ttl_ms(self, number: i64, now_ns: u64) -> i64 {
        let now_ms = i64::try_from(now_ns / 1_000_000).unwrap_or(i64::MAX);
        match self {
            Self::Seconds => number.saturating_mul(1000),
            Self::Millis => number,
            Self::Date => number.saturating_mul(1000).saturating_sub(now_ms),
            Self::DateMillis => number.saturating_sub(now_ms),
        }
    }

    /// The TTL in seconds at this time. An end that has passed counts as a second.
    pub(super) fn ttl_s(self, number: i64, now_ns: u64) -> u32 {
        let millis = self.ttl_ms(number, now_ns);
        let seconds = u64::try_from(millis).unwrap_or(0).div_ceil(1000).max(1);
        u32::try_from(seconds).unwrap_or(NONE - 1)
    }
}

/// A command by its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Command {
    pub(super) family: Family,
    pub(super) expected: Expected,
    pub(super) verb: Verb,
    /// TTL of an entry where no option gives one.
    pub(super) ttl_s: u32,
    pub(super) unit: Unit,
}

impl Command {
    const fn of(family: Family, expected: Expected, verb: Verb) -> Self {
        Self { family, expected, verb, ttl_s: NONE, unit: Unit::Seconds }
    }

    const fn other(family: Family, expected: Expected) -> Self {
        Self::of(family, expected, Verb::Get)
    }

    /// The same command for entries without a TTL, unless an option sets one. A change of an absent key stores such an entry.
    const fn for_ever(self) -> Self {
        Self { ttl_s: 0, ..self }
    }

    const fn in_unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }

    /// Whether it is an operation on keys.
    pub(super) fn is_of_keys(&self) -> bool {
        !matches!(self.family, Family::Select | Family::Client | Family::Channels | Family::Other)
    }

    /// The command of a name in capitals.
    pub(super) fn find(name: &[u8]) -> Self {
        use Family::{
            Channels, Client, GetEx, Key, KeyAmount, KeyTime, KeyTimeValue, KeyValue, Keys, Pairs,
            Select, Set,
        };
        let tally = |verb, yes, no| Self::of(Keys, Expected::Tally(yes, no), verb);
        let expire =
            Self::of(KeyTime, Expected::Tally(Outcome::Touched, Outcome::NotFound), Verb::Touch);
        let set_with_ttl = Self::of(KeyTimeValue, Expected::Write, Verb::Set);
        match name {
            b"GET" => Self::of(Key, Expected::Read, Verb::Get),
            b"MGET" => Self::of(Keys, Expected::ReadMany, Verb::Get),
            b"GETEX" => Self::of(GetEx, Expected::Read, Verb::Get),
            b"GETDEL" => Self::of(Key, Expected::ReadDelete, Verb::Delete),
            b"GETSET" => Self::of(KeyValue, Expected::ReadWrite, Verb::Set).for_ever(),
            b"SET" => Self::of(Set, Expected::Write, Verb::Set).for_ever(),
            b"SETEX" => set_with_ttl,
            b"PSETEX" => set_with_ttl.in_unit(Unit::Millis),
            b"SETNX" => Self::of(KeyValue, Expected::Write, Verb::Add).for_ever(),
            b"MSET" => Self::of(Pairs, Expected::Write, Verb::Set).for_ever(),
            b"MSETNX" => Self::of(Pairs, Expected::Write, Verb::Add).for_ever(),
            b"APPEND" => Self::of(KeyValue, Expected::Number, Verb::Append).for_ever(),
            b"DEL" | b"UNLINK" => tally(Verb::Delete, Outcome::Deleted, Outcome::NotFound),
            b"EXISTS" => tally(Verb::Get, Outcome::Hit, Outcome::Miss),
            b"TOUCH" => tally(Verb::Touch, Outcome::Touched, Outcome::NotFound),
            b"INCR" => Self::of(Key, Expected::Number, Verb::Incr).for_ever(),
            b"DECR" => Self::of(Key, Expected::Number, Verb::Decr).for_ever(),
            b"INCRBY" => Self::of(KeyAmount, Expected::Number, Verb::Incr).for_ever(),
            b"DECRBY" => Self::of(KeyAmount, Expected::Number, Verb::Decr).for_ever(),
            b"EXPIRE" => expire,
            b"PEXPIRE" => expire.in_unit(Unit::Millis),
            b"EXPIREAT" => expire.in_unit(Unit::Date),
            b"PEXPIREAT" => expire.in_unit(Unit::DateMillis),
            b"SELECT" => Self::other(Select, Expected::Select(0)),
            b"CLIENT" => Self::other(Client, Expected::Other),
            b"MULTI" => Self::other(Family::Other, Expected::Multi),
            b"EXEC" => Self::other(Family::Other, Expected::Exec),
            b"DISCARD" => Self::other(Family::Other, Expected::Discard),
            b"SUBSCRIBE" | b"PSUBSCRIBE" | b"SSUBSCRIBE" => {
                Self::other(Channels, Expected::Subscribe(0))
            }
            b"UNSUBSCRIBE" => unsubscribe(Subscription::Channel),
            b"PUNSUBSCRIBE" => unsubscribe(Subscription::Pattern),
            b"SUNSUBSCRIBE" => unsubscribe(Subscription::Shard),
            b"RESET" => Self::other(Family::Other, Expected::Reset),
            b"MONITOR" => Self::other(Family::Other, Expected::Monitor),
            _ => Self::other(Family::Other, Expected::Other),
        }
    }
}

fn unsubscribe(of: Subscription) -> Command {
    Command::other(Family::Channels, Expected::Unsubscribe(of, 0))
}

/// The meaning of one word of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Key,
    Value,
    /// A word or a number that is read.
    Word,
    Ignored,
}

impl Family {
    /// The meaning of the word at this place; the name is at 0.
    pub(super) fn role(self, place: u64) -> Role {
        match (self, place) {
            (_, 0) => Role::Word,
            (Self::Other | Self::Channels, _) => Role::Ignored,
            (Self::Select, 1) | (Self::Client, 1 | 2) => Role::Word,
            (Self::Select | Self::Client, _) => Role::Ignored,
            (Self::Keys, _) | (_, 1) => Role::Key,
            (Self::Pairs, _) if place % 2 == 1 => Role::Key,
            (Self::Pairs, _) => Role::Value,
            (Self::Set | Self::KeyValue, 2) | (Self::KeyTimeValue, 3) => Role::Value,
            (Self::Set | Self::GetEx, _) => Role::Word,
            (Self::KeyTimeValue | Self::KeyTime | Self::KeyAmount, 2) => Role::Word,
            (Self::Key | Self::KeyValue | Self::KeyTimeValue | Self::KeyTime, _) => Role::Ignored,
            (Self::KeyAmount, _) => Role::Ignored,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_in_whole_seconds_from_now() {
        const NOW_S: i64 = 1_800_000_000;
        let now_ns = NOW_S.unsigned_abs() * 1_000_000_000;
        for (unit, number, seconds) in [
            (Unit::Seconds, 60, 60),
            (Unit::Millis, 1500, 2),
            (Unit::Millis, 1, 1),
            (Unit::Seconds, -5, 1),
            (Unit::Date, NOW_S + 90, 90),
            (Unit::DateMillis, (NOW_S - 1) * 1000, 1),
            (Unit::Seconds, i64::MAX, NONE - 1),
        ] {
            assert_eq!(unit.ttl_s(number, now_ns), seconds, "{unit:?} {number}");
        }
    }

    #[test]
    fn keys_and_values_stand_where_the_command_has_them() {
        use Role::{Ignored, Key, Value, Word};
        let roles = |name: &[u8], n: u64| {
            let family = Command::find(name).family;
            (1..n).map(|place| family.role(place)).collect::<Vec<_>>()
        };
        assert_eq!(roles(b"SET", 5), [Key, Value, Word, Word]);
        assert_eq!(roles(b"SETEX", 4), [Key, Word, Value]);
        assert_eq!(roles(b"MSET", 5), [Key, Value, Key, Value]);
        assert_eq!(roles(b"MGET", 4), [Key, Key, Key]);
        assert_eq!(roles(b"GET", 3), [Key, Ignored]);
        assert_eq!(roles(b"HSET", 4), [Ignored, Ignored, Ignored]);
        assert_eq!(roles(b"AUTH", 3), [Ignored, Ignored]);
    }
}
