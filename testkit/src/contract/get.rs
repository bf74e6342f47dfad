//! `get`.

use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, fails_with, holds, lacks, put, same};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] = &[
    case!(get_of_an_absent_key_is_a_miss_and_empties_the_buffer),
    case!(get_reuses_one_buffer_for_values_of_any_length),
    case!(get_leaves_the_entry_as_it_is),
    case!(get_onto_keeps_what_the_buffer_has),
    case!(get_onto_of_a_refused_key_keeps_what_the_buffer_has, KEY_LIMIT),
    case!(look_tells_the_size_and_what_a_get_tells),
];

fn get_of_an_absent_key_is_a_miss_and_empties_the_buffer(fixture: &Fixture) -> Result<(), Failed> {
    lacks(&mut *fixture.session()?, &fixture.key("absent"))
}

fn get_reuses_one_buffer_for_values_of_any_length(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (long, short) = (fixture.key("long"), fixture.key("short"));
    put(&mut *session, &long, &[b'l'; 5000])?;
    put(&mut *session, &short, b"s")?;
    let mut value = Vec::new();
    for (key, wanted) in [(&long, &[b'l'; 5000][..]), (&short, b"s"), (&long, &[b'l'; 5000])] {
        session.get(key, &mut value)?.ok_or("a miss")?;
        same(key, &value, wanted)?;
    }
    Ok(())
}

fn get_leaves_the_entry_as_it_is(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"value")?;
    let first = holds(&mut *session, &key, b"value")?;
    let second = holds(&mut *session, &key, b"value")?;
    ensure_eq!(second.version, first.version, "the version after a get");
    Ok(())
}

fn get_onto_keeps_what_the_buffer_has(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (long, absent) = (fixture.key("long"), fixture.key("absent"));
    put(&mut *session, &long, &[b'l'; 5000])?;
    let mut out = b"header ".to_vec();
    let meta = session.get_onto(&absent, &mut out)?;
    ensure!(meta.is_none(), "get_onto of an absent key is a hit");
    same(&absent, &out, b"header ")?;
    for n in 1..=2 {
        session.get_onto(&long, &mut out)?.ok_or("a miss")?;
        let wanted = [&b"header "[..], &[b'l'; 5000].repeat(n)].concat();
        same(&long, &out, &wanted)?;
    }
    Ok(())
}

fn get_onto_of_a_refused_key_keeps_what_the_buffer_has(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let limit = fixture.capabilities()?.max_key_len.ok_or("no limit")?;
    let (long, mut out) = (vec![b'k'; limit + 1], b"header ".to_vec());
    fails_with(session.get_onto(&long, &mut out), "key_too_long")?;
    same(&long, &out, b"header ")
}

fn look_tells_the_size_and_what_a_get_tells(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    ensure_eq!(session.look(&fixture.key("absent"))?, None, "look at an absent key");
    for len in [0, 1, 5000, 200_000] {
        let value = vec![b'v'; len];
        put(&mut *session, &key, &value)?;
        let looked = session.look(&key)?.ok_or("look at a key that is there is a miss")?;
        ensure_eq!(looked.value_len, len, "the size");
        let read = holds(&mut *session, &key, &value)?;
        ensure_eq!(looked.meta.version, read.version, "the version");
        ensure_eq!(looked.meta.flags, read.flags, "the flags");
        ensure_eq!(looked.meta.stale, read.stale, "whether it is stale");
        ensure!(looked.was_hit != Some(true), "an entry that nobody read was hit");
    }
    let looked = session.look(&key)?.ok_or("a miss")?;
    ensure!(looked.was_hit != Some(false), "an entry that was read was not hit");
    Ok(())
}
