//! `clear`.

use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{holds, lacks, put};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] =
    &[case!(clear_removes_every_entry_and_the_store_works_on, CLEAR, ACKNOWLEDGED)];

fn clear_removes_every_entry_and_the_store_works_on(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let mut session = store.session()?;
    let mut other = store.session()?;
    for i in 0..100 {
        put(&mut *session, &fixture.key(i), b"value")?;
    }
    session.clear()?;
    for i in 0..100 {
        lacks(&mut *session, &fixture.key(i))?;
        lacks(&mut *other, &fixture.key(i))?;
    }
    session.clear()?;
    put(&mut *other, &fixture.key(1), b"after")?;
    holds(&mut *session, &fixture.key(1), b"after").map(drop)
}
