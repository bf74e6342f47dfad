//! `get_many`.

use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, put, put_with, same};
use super::fixture::Fixture;
use crate::Random;

pub(super) const CASES: &[Case] = &[
    case!(get_many_finds_present_keys_and_skips_absent_keys),
    case!(get_many_of_nothing_hits_nothing),
    case!(get_many_answers_a_key_as_often_as_it_is_asked),
    case!(get_many_takes_large_batches_of_mixed_values),
    case!(get_many_tells_flags, FLAGS),
];

fn get_many_finds_present_keys_and_skips_absent_keys(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let keys: Vec<_> = (0..20).map(|i| fixture.key(i)).collect();
    for key in keys.iter().step_by(2) {
        put(&mut *session, key, key)?;
    }
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut hits = Vec::new();
    let mut wrong = None;
    session.get_many(&keys, &mut |i, value, _| {
        hits.push(i);
        wrong = wrong.or((value != keys[i]).then_some(i));
    })?;
    hits.sort_unstable();
    ensure_eq!(hits, (0..20).step_by(2).collect::<Vec<_>>(), "the places of the hits");
    ensure!(wrong.is_none(), "the value of another key at {wrong:?}");
    Ok(())
}

fn get_many_of_nothing_hits_nothing(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let mut hits = 0;
    session.get_many(&[], &mut |_, _, _| hits += 1)?;
    session.get_many(&[&fixture.key("absent")], &mut |_, _, _| hits += 1)?;
    ensure_eq!(hits, 0, "the hits");
    // The session is still good for the next call.
    put(&mut *session, &fixture.key("a"), b"value")
}

fn get_many_answers_a_key_as_often_as_it_is_asked(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (a, b, absent) = (fixture.key("a"), fixture.key("b"), fixture.key("absent"));
    put(&mut *session, &a, b"value of a")?;
    put(&mut *session, &b, b"value of b")?;
    let mut hits = Vec::new();
    let keys: [&[u8]; 6] = [&a, &b, &a, &absent, &absent, &a];
    session.get_many(&keys, &mut |i, value, _| hits.push((i, value.to_vec())))?;
    hits.sort();
    let wanted: Vec<_> = [(0, "a"), (1, "b"), (2, "a"), (5, "a")]
        .into_iter()
        .map(|(i, name)| (i, format!("value of {name}").into_bytes()))
        .collect();
    ensure_eq!(hits, wanted, "the hits");
    Ok(())
}

fn get_many_takes_large_batches_of_mixed_values(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let mut random = Random::new(5);
    let entries: Vec<_> = (0..300)
        .map(|i| {
            let len = [0, 1, 100, 3000, 20_000][random.below(5)];
            (fixture.key(i), random.bytes(len))
        })
        .collect();
    for (key, value) in &entries {
        put(&mut *session, key, value)?;
    }
    let keys: Vec<&[u8]> = entries.iter().map(|(key, _)| key.as_slice()).collect();
    let mut hits = 0;
    let mut wrong = Ok(());
    session.get_many(&keys, &mut |i, value, _| {
        hits += 1;
        if wrong.is_ok() {
            wrong = same(&entries[i].0, value, &entries[i].1);
        }
    })?;
    wrong?;
    ensure_eq!(hits, entries.len(), "the hits");
    Ok(())
}

fn get_many_tells_flags(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (a, b) = (fixture.key("a"), fixture.key("b"));
    for (key, flags) in [(&a, 1), (&b, u32::MAX)] {
        put_with(
            &mut *session,
            key,
            b"v",
            &larder_store::SetOptions { flags, ..Default::default() },
        )?;
    }
    let mut hits = Vec::new();
    session.get_many(&[&a, &b], &mut |i, _, meta| hits.push((i, meta.flags)))?;
    hits.sort_unstable();
    ensure_eq!(hits, [(0, 1), (1, u32::MAX)], "the flags");
    Ok(())
}
