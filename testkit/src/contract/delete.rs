//! `delete`.

use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, holds, lacks, put};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] =
    &[case!(delete_says_whether_the_key_was_there), case!(delete_removes_no_other_key)];

fn delete_says_whether_the_key_was_there(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    ensure!(!session.delete(&key)?, "delete of an absent key is true");
    put(&mut *session, &key, b"value")?;
    ensure!(session.delete(&key)?, "delete of a key that is there is false");
    lacks(&mut *session, &key)?;
    ensure!(!session.delete(&key)?, "the second delete is true");
    put(&mut *session, &key, b"again")?;
    holds(&mut *session, &key, b"again").map(drop)
}

fn delete_removes_no_other_key(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    for i in 0..50 {
        put(&mut *session, &fixture.key(i), format!("value {i}").as_bytes())?;
    }
    for i in (0..50).step_by(2) {
        ensure!(session.delete(&fixture.key(i))?, "delete of key {i} is false");
    }
    for i in 0..50 {
        match i % 2 {
            0 => lacks(&mut *session, &fixture.key(i))?,
            _ => drop(holds(&mut *session, &fixture.key(i), format!("value {i}").as_bytes())?),
        }
    }
    Ok(())
}
