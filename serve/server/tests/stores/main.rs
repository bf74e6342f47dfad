//! `larder serve` over each kind of store: each command of memcached's protocols.
//!
//! A store has the commands that its capabilities tell, and answers them as memcached does. Any other command gets one
//! line of refusal, and the connection goes on. The trials of a store share one server, one after the other.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[path = "../support/mod.rs"]
mod support;

mod commands;
mod races;
mod values;
mod wire;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use larder_engines::ENGINES;
use larder_server::Settings;
use larder_store::{Capabilities, Store, StoreUrl};
use larder_testkit::{
    everything_is_required, has_program, nightly_if, run_waiting, trial, trial_where,
};
use libtest_mimic::{Completion, Trial};
use support::transcript::TRANSCRIPTS;
use support::{Client, Serving, settings, store};

const STORES: &[&str] = &[
    "memory:",
    "mmap:",
    "moka:",
    "lmdb:",
    "lmdb:?sync=group",
    "sqlite:",
    "redb:",
    "fjall:",
    "file:",
    "postgresql:",
    "redis:",
];

/// Stores that the run of a change does not install.
const NIGHTLY: &[&str] = &["bdb:", "mysql:"];

/// Stores whose largest value is below the limit of the server.
const SMALL: &[&str] = &[
    "memory:?size=8m",
    "mmap:?size=8m",
    "moka:?size=2m",
    "lmdb:?size=4m",
    "sqlite:?size=4m",
    "file:?size=2m",
];

/// A server over one store.
struct Served {
    store: Arc<dyn Store>,
    able: Capabilities,
    serving: Serving,
}

impl Served {
    /// Opens the store; the error says what is missing for it.
    fn start(url: &str) -> Result<Self, String> {
        let store = ENGINES.open(&StoreUrl::parse(url).unwrap()).map_err(|it| it.to_string())?;
        let settings = Settings { item_bytes: values::ITEM_BYTES, ..settings() };
        let serving = Serving::of(Arc::clone(&store), settings);
        Ok(Self { able: store.capabilities(), serving, store })
    }

    fn client(&self) -> Client {
        self.serving.client()
    }

    fn address(&self) -> SocketAddr {
        self.serving.address
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.store.close();
    }
}

type Check = fn(&Served);

/// The trials of each store beside the transcripts.
const CHECKS: &[(&str, Check)] = &[
    ("every_command", |served| commands::each_is_answered(served.address(), &served.able)),
    ("what_no_store_can_do_is_refused", |served| commands::others_are_refused(served.address())),
    ("every_binary_command", wire::each_is_answered),
    ("a_binary_condition_is_kept_or_refused", wire::a_condition_is_kept_or_refused),
    ("incr_loses_no_count", races::incr),
    ("an_initial_number_is_made_once", races::initial),
    ("append_loses_no_part", races::append),
    ("append_makes_an_absent_entry_once", races::append_or_make),
    ("add_is_won_by_one", races::add),
    ("delete_is_won_by_one", races::delete),
    ("cas_loses_no_update", races::cas),
    ("a_change_of_a_version_loses_no_update", races::conditional),
    ("a_value_is_whole_whatever_its_bytes", values::bytes),
    ("a_value_at_the_limit_is_whole_and_one_beyond_is_refused", values::limits),
    ("each_key_is_another", values::keys),
    ("every_group_of_statistics", |served| commands::statistics(served.address())),
    ("values_come_in_the_order_of_their_keys", values::order),
    ("an_entry_ends_at_its_time_and_no_other_does", values::ends),
];

/// One store for all of its trials, opened by the first.
type Shared = Arc<LazyLock<Mutex<Result<Served, String>>, Box<dyn FnOnce() -> Opened + Send>>>;
type Opened = Mutex<Result<Served, String>>;

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    let stores: Vec<(&str, Shared)> = [STORES, NIGHTLY]
        .concat()
        .into_iter()
        .map(|url| {
            let open: Box<dyn FnOnce() -> Opened + Send> =
                Box::new(|| Mutex::new(Served::start(url)));
            (url, Arc::new(LazyLock::new(open)))
        })
        .collect();
    let mut trials = Vec::new();
    // Trials that follow each other are of different stores, so that they run at the same time.
    for (name, check) in CHECKS {
        trials.extend(stores.iter().map(|(url, shared)| {
            on(url, shared, name, move |served| {
                check(served);
                true
            })
        }));
    }
    for transcript in TRANSCRIPTS {
        trials.extend(stores.iter().map(|(url, shared)| {
            on(url, shared, &format!("transcript_{}", transcript.name), move |served| {
                let suits = (transcript.suits)(&served.able);
                if suits {
                    empty(served);
                    transcript.follow(served.address());
                }
                suits
            })
        }));
    }
    trials.extend(others());
    run_waiting(trials)
}

/// The trials with a store of their own.
fn others() -> Vec<Trial> {
    let mut trials = Vec::new();
    for url in SMALL {
        let name = format!("{url}::a_value_at_the_limit_of_the_store_is_whole");
        trials.push(trial(&name, || {
            let served = Served::start(url).unwrap();
            assert!(served.able.max_value_len.unwrap() < values::ITEM_BYTES);
            values::limits(&served);
        }));
    }
    trials.push(trial_where(redis, "redis::a_server_of_others_is_not_flushed", || {
        let own = store("redis:");
        let others = Served::start(&format!("redis://{}", own.info().addresses[0])).unwrap();
        assert!(!others.able.clear);
        commands::each_is_answered(others.address(), &others.able);
    }));
    trials.push(trial_where(memcached, "memcached::every_command", || {
        commands::memcached_agrees(address_of(&MEMCACHED));
    }));
    trials
}

/// A trial on a store, which is ignored where the store lacks what it needs.
fn on(
    url: &str,
    shared: &Shared,
    name: &str,
    check: impl FnOnce(&Served) -> bool + Send + 'static,
) -> Trial {
    let shared = Arc::clone(shared);
    let trial = Trial::ignorable_test(format!("{url}::{name}"), move || {
        // A trial that failed leaves the store to the others.
        let served = shared.lock().unwrap_or_else(PoisonError::into_inner);
        match &*served {
            Ok(served) if check(served) => Ok(Completion::Completed),
            Ok(_) => Ok(Completion::ignored_with("the store lacks some of its requests")),
            Err(reason) if everything_is_required() => Err(reason.into()),
            Err(reason) => Ok(Completion::ignored_with(format!("cannot run here: {reason}"))),
        }
    });
    nightly_if(NIGHTLY.contains(&url), trial)
}

/// Removes the entries of earlier trials.
fn empty(served: &Served) {
    served.store.session().unwrap().clear().unwrap();
}

fn memcached() -> Result<(), String> {
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

fn redis() -> Result<(), String> {
    has_program(&ENGINES.find("redis").unwrap().recipes[0])
}

/// The real memcached, which judges what is expected.
static MEMCACHED: LazyLock<Arc<dyn Store>> = LazyLock::new(|| store("memcached:"));

fn address_of(store: &Arc<dyn Store>) -> SocketAddr {
    store.info().addresses[0].parse().unwrap()
}
