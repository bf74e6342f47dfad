//! Closing a store in order.

use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, fails_with, holds, put};
use super::fixture::{Fixture, TestDir};
use crate::{is_running, try_signal};

pub(super) const CASES: &[Case] = &[
    case!(entries_are_there_after_a_close, KEEPS_FILES),
    case!(a_second_close_does_nothing),
    case!(a_close_after_the_death_of_a_server_tells_of_it, HAS_SERVERS),
];

fn entries_are_there_after_a_close(fixture: &Fixture) -> Result<(), Failed> {
    let directory = TestDir::create()?;
    let url = fixture.url_at(&directory.path());
    let keys: Vec<_> = (0..100).map(|i| fixture.key(i)).collect();
    let store = fixture.open_url(&url)?;
    let mut session = store.session()?;
    for key in &keys {
        put(&mut *session, key, key)?;
    }
    // An open session is no obstacle.
    store.close()?;
    drop((session, store));
    let mut session = fixture.open_url(&url)?.session()?;
    keys.iter().try_for_each(|key| holds(&mut *session, key, key).map(drop))
}

fn a_second_close_does_nothing(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    put(&mut *store.session()?, &fixture.key("a"), b"value")?;
    store.close()?;
    Ok(store.close()?)
}

fn a_close_after_the_death_of_a_server_tells_of_it(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let servers = store.info().server_pids;
    ensure!(!servers.is_empty(), "it tells no server");
    for pid in &servers {
        try_signal(*pid, libc::SIGKILL)?;
    }
    while servers.iter().any(|pid| is_running(&pid.to_string())) {
        sleep(Duration::from_millis(1));
    }
    let error = fails_with(store.close(), "unavailable")?;
    ensure!(error.to_string().contains("signal 9"), "the error is: {error}");
    Ok(store.close()?)
}
