//! Stacks above a real memcached that is frozen, killed, and comes back.
//!
//! The hard timeout is an hour here. So a call that returns while the server is frozen has not waited for it.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "how another process answers")]

mod load;
mod pool;
mod reads;

use std::process::ExitCode;
use std::sync::Arc;

use larder_engines::ENGINES;
use larder_store::{Result, Session, SetOptions, SetOutcome, Store, StoreUrl};
use larder_testkit::{MEMCACHED, PATIENCE, get, has_program, trial_where, within};
use libtest_mimic::Arguments;

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    if let Some(code) = load::work_if_asked() {
        return code;
    }
    let trials = [
        ("a_read_of_a_frozen_server_is_a_counted_miss_and_a_write_waits", reads::frozen as fn()),
        ("a_late_answer_is_the_answer_of_no_other_call", reads::late_answer),
        ("a_tier_whose_reads_have_no_bound_is_refused", reads::refused),
        ("encrypted_reads_and_those_of_redis_have_the_same_bound", reads::frozen_others),
        ("a_load_above_a_frozen_server_is_made_and_kept_in_l1", reads::frozen_loads),
        ("a_frozen_server_of_a_pool_concerns_its_own_keys_alone", pool::frozen),
        ("a_server_that_comes_back_has_no_older_value_of_a_key_that_was_written", pool::back),
        ("a_server_that_freezes_dies_and_comes_back_reaches_no_reader", load::under_load),
    ];
    let trials = trials.map(|(name, run)| trial_where(|| has_program(&MEMCACHED), name, run));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

fn open(url: &str) -> Arc<dyn Store> {
    ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap()
}

fn set(session: &mut dyn Session, key: &str, value: &[u8]) -> Result<SetOutcome> {
    session.set(key.as_bytes(), value, &SetOptions::default())
}

/// Waits until something is so.
fn wait_until(what: &str, is_so: impl FnMut() -> bool) {
    assert!(within(PATIENCE, is_so), "{what} has not come");
}

/// Sets a key until the set succeeds: a busy machine may make a server seem dead for a moment.
fn set_surely(session: &mut dyn Session, key: &str, value: &[u8]) {
    wait_until("a set", || set(session, key, value).is_ok());
}

/// The errors of the lowest tier so far.
fn errors(store: &dyn Store) -> u64 {
    store.tiers().last().unwrap().errors
}
