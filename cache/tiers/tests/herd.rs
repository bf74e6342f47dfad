//! 64 threads in eight processes on two hosts meet one key, absent or over: one loads it. A file of its own stands for the
//! memory of each host, and a real memcached for the tier that they share.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "how the other processes answer")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use larder_engines::ENGINES;
use larder_host::scratch::ScratchDir;
use larder_store::{Error, SetOptions, Span, Store, StoreUrl};
use larder_testkit::{SecondProcess, has_program, trial_where};
use larder_tiers::{Config, LoadOptions, Loaded, Origin, Tiers};
use libtest_mimic::Arguments;

const HOSTS: usize = 2;
const PROCESSES: usize = 8;
const THREADS: usize = 8;

const KEY: &[u8] = b"larder-test:herd:wanted";
const HOUR: Duration = Duration::from_hours(1);

const TAG: &[u8] = b"larder-test:herd";

/// The URLs of the tiers that another process opens, in one line; a third word is for a stack with tags.
const TIERS: &str = "LARDER_HERD_TIERS";

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    if let Ok(tiers) = std::env::var(TIERS) {
        return work(&tiers);
    }
    let memcached = || has_program(&ENGINES.find("memcached").unwrap().recipes[0]);
    let trials = [
        ("of_a_herd_that_meets_an_absent_key_one_loads", absent as fn()),
        ("of_a_herd_that_meets_a_key_that_is_over_one_loads_and_nobody_waits", over),
        ("of_a_herd_that_meets_a_key_whose_tag_has_ended_one_loads", ended),
    ];
    let trials = trials.map(|(name, run)| trial_where(memcached, name, run));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

fn open(url: &str) -> Arc<dyn Store> {
    ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap()
}

/// A stack with a time of grace, in which every entry expires at once; or a stack with tags.
fn stack(tiers: &str) -> Tiers {
    let mut words = tiers.split_whitespace();
    let stores = words.by_ref().take(2).map(open).collect();
    let (tags, grace) =
        if words.next().is_some() { (true, Span::default()) } else { (false, Span(HOUR)) };
    Tiers::new(stores, &Config { grace, tags, ..Config::default() }).unwrap()
}

/// The work of another process: each of its threads asks for the key once, all at the same moment.
fn work(tiers: &str) -> ExitCode {
    let store = stack(tiers);
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| println!("{}", ask(&store)));
        }
    });
    ExitCode::SUCCESS
}

/// Asks for the key, and says in a word what it got.
fn ask(store: &Tiers) -> &'static str {
    let (mut session, mut value) = (store.open_session().unwrap(), Vec::new());
    let has_tags = store.info().settings["tags"] == "on";
    let tags = if has_tags { &[TAG][..] } else { &[] };
    let options =
        LoadOptions { ttl: Some(HOUR), wait: HOUR, lease: HOUR, tags, ..LoadOptions::default() };
    let answer = session.get_or_load::<Error>(KEY, &mut value, &options, |value| {
        // The others come meanwhile.
        thread::sleep(Duration::from_millis(300));
        value.extend_from_slice(b"new");
        Ok(Loaded::Value)
    });
    let answer = answer.unwrap().unwrap();
    match (answer.origin, answer.stale, &*value) {
        (Origin::Loader, false, b"new") => "loaded",
        (Origin::Tier(_), false, b"new") => "found",
        (Origin::Tier(_), true, b"old") => "older",
        _ => "wrong",
    }
}

/// What all threads of all processes got: each word, and how many got it. `prepare` leaves the key in the shared tier. `more`
/// is the third word of their tiers.
fn herd(more: &str, prepare: impl FnOnce(&Arc<dyn Store>)) -> BTreeMap<String, usize> {
    let shared = open("memcached:");
    let node = shared.info().settings["nodes"].clone();
    prepare(&shared);
    let folder = ScratchDir::create("herd").unwrap();
    let near =
        |host: usize| format!("mmap:{}?size=1m", folder.path().join(host.to_string()).display());
    // The files stay while no process of the herd has them open.
    let _hosts: Vec<_> = (0..HOSTS).map(|host| open(&near(host))).collect();
    let start = |number: usize| {
        let tiers = format!("{} memcached://{node} {more}", near(number % HOSTS));
        SecondProcess::start(TIERS, tiers)
    };
    let mut processes: Vec<SecondProcess> = (0..PROCESSES).map(start).collect();
    for process in &mut processes {
        assert_eq!(process.line().as_deref(), Some("ready"));
    }
    for process in &mut processes {
        process.send("go");
    }
    let mut got = BTreeMap::new();
    for process in &mut processes {
        while let Some(word) = process.line() {
            *got.entry(word).or_default() += 1;
        }
    }
    assert_eq!(got.values().sum::<usize>(), PROCESSES * THREADS, "{got:?}");
    got
}

fn absent() {
    let got = herd("", |_| ());
    let all = PROCESSES * THREADS;
    let wanted = [("loaded".to_owned(), 1), ("found".to_owned(), all - 1)];
    assert_eq!(got, BTreeMap::from(wanted));
}

fn over() {
    let got = herd("", |shared| {
        // It has expired, and is kept for the time of grace.
        let options = SetOptions { ttl: Some(HOUR / 2), ..SetOptions::default() };
        shared.session().unwrap().set(KEY, b"old", &options).unwrap();
    });
    assert_eq!(got.get("loaded"), Some(&1), "{got:?}");
    assert!(got.get("older").is_some_and(|older| *older > 0), "{got:?}");
    assert_eq!(got.get("wrong"), None, "{got:?}");
}

fn ended() {
    let got = herd("tags", |shared| {
        let config = Config { tags: true, ..Config::default() };
        let stack = Tiers::new(vec![open("memory:"), Arc::clone(shared)], &config).unwrap();
        let mut session = stack.open_session().unwrap();
        session.set_tagged(KEY, b"old", &SetOptions::default(), &[TAG]).unwrap();
        session.delete_tag(TAG).unwrap();
    });
    let wanted = [("loaded".to_owned(), 1), ("found".to_owned(), PROCESSES * THREADS - 1)];
    assert_eq!(got, BTreeMap::from(wanted));
}
