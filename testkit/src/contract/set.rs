//! `set` in its plain mode.

use larder_store::{Error, Session, SetOptions};
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{holds, lacks, put, same};
use super::fixture::Fixture;
use super::need::{TRIED_KEY_LEN, TRIED_VALUE_LEN};
use crate::Random;

pub(super) const CASES: &[Case] = &[
    case!(set_then_get_returns_the_value),
    case!(set_takes_empty_values),
    case!(set_takes_values_of_every_byte),
    case!(set_takes_values_around_powers_of_two),
    case!(set_takes_values_up_to_the_value_limit),
    case!(set_takes_keys_of_one_byte_and_of_the_key_limit),
    case!(set_tells_keys_apart_that_differ_in_one_byte),
    case!(set_overwrites_with_shorter_and_longer_values),
    case!(set_with_keys_of_any_bytes_works_or_is_refused),
];

fn set_then_get_returns_the_value(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"value")?;
    holds(&mut *session, &key, b"value")?;
    put(&mut *session, &key, b"v")?;
    holds(&mut *session, &key, b"v").map(drop)
}

fn set_takes_empty_values(fixture: &Fixture) -> Result<(), Failed> {
    round_trip(&mut *fixture.session()?, &fixture.key("empty"), b"")
}

fn set_takes_values_of_every_byte(fixture: &Fixture) -> Result<(), Failed> {
    let every: Vec<u8> = (0..=u8::MAX).chain((0..=u8::MAX).rev()).collect();
    let mut session = fixture.session()?;
    round_trip(&mut *session, &fixture.key("every"), &every)?;
    round_trip(&mut *session, &fixture.key("lines"), b"\r\nEND\r\nVALUE x 0 5\r\n\0\0")
}

fn set_takes_values_around_powers_of_two(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let limit = fixture.capabilities()?.max_value_len.unwrap_or(usize::MAX);
    let mut random = Random::new(2);
    for power in [0, 6, 8, 10, 12, 13, 15, 16, 18] {
        for len in [(1 << power) - 1, 1 << power, (1 << power) + 1] {
            if len <= limit {
                round_trip(&mut *session, &fixture.key(len), &random.bytes(len))?;
            }
        }
    }
    Ok(())
}

/// Some engines limit the item, which is the value with its key and a header. They may refuse a value of exactly the
/// limit, but must take a value that leaves room for both.
fn set_takes_values_up_to_the_value_limit(fixture: &Fixture) -> Result<(), Failed> {
    const HEADER_LEN: usize = 256;
    let mut session = fixture.session()?;
    let key = fixture.key("large");
    // An engine without a known limit must take a megabyte; a huge limit is not tried to its end.
    let len = match fixture.capabilities()?.max_value_len {
        Some(limit) => limit.min(TRIED_VALUE_LEN),
        None => 1 << 20,
    };
    let value = Random::new(3).bytes(len);
    match session.set(&key, &value, &SetOptions::default()) {
        Err(Error::ValueTooLarge { .. }) => {
            let room = len.saturating_sub(key.len() + HEADER_LEN);
            round_trip(&mut *session, &key, &value[..room])
        }
        _ => round_trip(&mut *session, &key, &value),
    }
}

fn set_takes_keys_of_one_byte_and_of_the_key_limit(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    round_trip(&mut *session, b"k", b"of one byte")?;
    session.delete(b"k")?;
    let limit = fixture.capabilities()?.max_key_len.unwrap_or(1 << 10).min(TRIED_KEY_LEN);
    let mut key = fixture.key("long-");
    super::expect::ensure!(key.len() < limit, "a key limit of {limit} bytes is too small to use");
    key.resize(limit, b'x');
    round_trip(&mut *session, &key, b"of the longest key")?;
    key.pop();
    lacks(&mut *session, &key)
}

fn set_tells_keys_apart_that_differ_in_one_byte(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let keys = ["a", "A", "b", "aa", "a0", "a.", "a/b", "..", "a-b", "a_b", "%61"];
    for name in keys {
        put(&mut *session, &fixture.key(name), name.as_bytes())?;
    }
    for name in keys {
        holds(&mut *session, &fixture.key(name), name.as_bytes())?;
    }
    Ok(())
}

fn set_overwrites_with_shorter_and_longer_values(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let mut random = Random::new(4);
    for len in [100, 1, 10_000, 0, 200_000, 50, 100] {
        round_trip(&mut *session, &key, &random.bytes(len))?;
    }
    Ok(())
}

/// Some protocols cannot carry every byte in a key. A store that takes such a key must also find it again.
fn set_with_keys_of_any_bytes_works_or_is_refused(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let base = fixture.key("a");
    let tails: [&[u8]; 7] = [b"\0", b" b", b"\r\nb", b"\x7f", b"\xff\xfe", b"\xc3\xa4", b"/../b"];
    for (i, tail) in tails.into_iter().enumerate() {
        let key = [&base[..], tail].concat();
        let value = [b'0' + u8::try_from(i)?];
        match session.set(&key, &value, &SetOptions::default()) {
            Ok(_) => drop(holds(&mut *session, &key, &value)?),
            Err(error) => {
                super::expect::ensure_eq!(error.kind(), "invalid_key", "`{error}` is of kind");
            }
        }
    }
    lacks(&mut *session, &base)
}

fn round_trip(session: &mut dyn Session, key: &[u8], value: &[u8]) -> Result<(), Failed> {
    put(session, key, value)?;
    let mut found = Vec::new();
    session.get(key, &mut found)?.ok_or_else(|| {
        format!("a value of {} bytes is a miss right after it was stored", value.len())
    })?;
    same(key, &found, value)
}
