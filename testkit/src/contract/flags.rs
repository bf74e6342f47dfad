//! Flags: a number for the client's own use.

use larder_store::SetOptions;
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure_eq, holds, put, put_with};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] =
    &[case!(flags_come_back_with_the_value, FLAGS), case!(flags_are_those_of_the_last_set, FLAGS)];

fn flags_come_back_with_the_value(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    for flags in [0, 1, 0xffff, 0x8000_0000, u32::MAX] {
        let key = fixture.key(flags);
        put_with(&mut *session, &key, b"value", &SetOptions { flags, ..Default::default() })?;
        ensure_eq!(holds(&mut *session, &key, b"value")?.flags, flags, "the flags");
    }
    Ok(())
}

fn flags_are_those_of_the_last_set(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put_with(&mut *session, &key, b"value", &SetOptions { flags: 5, ..Default::default() })?;
    put(&mut *session, &key, b"value")?;
    ensure_eq!(holds(&mut *session, &key, b"value")?.flags, 0, "the flags");
    Ok(())
}
