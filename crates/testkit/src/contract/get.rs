//! `get`.

use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{holds, lacks, put};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] = &[
    case!(get_of_an_absent_key_is_a_miss_and_empties_the_buffer),
    case!(get_reuses_one_buffer_for_values_of_any_length),
    case!(get_leaves_the_entry_as_it_is),
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
        super::expect::same(key, &value, wanted)?;
    }
    Ok(())
}

fn get_leaves_the_entry_as_it_is(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"value")?;
    let first = holds(&mut *session, &key, b"value")?;
    let second = holds(&mut *session, &key, b"value")?;
    super::expect::ensure_eq!(second.version, first.version, "the version after a get");
    Ok(())
}
