//! Stacks of the guests, and the servers behind them.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use larder_bench::{Permissions, Plan, Silent, compare};
use larder_engines::ENGINES;
use larder_store::{Store, StoreUrl};
use larder_testkit::trial_where;
use libtest_mimic::Trial;

use super::{CATALOG, cells, memcached, run, support};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial_where(memcached, "a_tier_answers_the_entries_it_holds", tiers),
        trial_where(memcached, "an_external_server_behind_a_tier_is_guarded", guarded),
        trial_where(memcached, "entries_left_on_an_external_server_expire", safety),
        trial_where(memcached, "settings_of_tiers_are_told_apart", settings),
    ]
}

fn tiers() {
    let near = "perl+tiered:fastmmap:?size=16m|memcached:";
    let run = run(&[near], "keys = 300\noperations = ['set', 'get']");
    let [set, get] = cells(&run, near)[..] else { panic!("two cells") };
    assert_eq!(set.counts.ops, 600);
    let [l1, l2] = &get.tiers[..] else { panic!("{:#?}", get.tiers) };
    assert_eq!((l1.name.as_str(), l2.name.as_str()), ("L1 fastmmap:", "L2 memcached:"));
    assert_eq!(l1.hits + l2.hits, get.counts.ops, "{:#?}", get.tiers);
    assert!(l1.hits > 0 && l2.lookups() == l1.misses, "{:#?}", get.tiers);
}

/// A memcached that the comparisons treat as an external server, and its address.
fn somebodys() -> (Arc<dyn Store>, String) {
    let store = ENGINES.open(&StoreUrl::parse("memcached:?m=64").unwrap()).unwrap();
    let address = store.info().addresses[0].clone();
    (store, address)
}

fn guarded() {
    let (_server, address) = somebodys();
    let large = "keys = 1000\ndata-size = '10k'";
    for target in [
        format!("perl+tiered:fastmmap:|memcached://{address}"),
        format!("perl+tiered:memcached://{address}|fastmmap:"),
    ] {
        let plan = Plan::new(&support::scenario(&[&target], large), true, &CATALOG).unwrap();
        let stop = AtomicBool::new(false);
        let refused = compare(&plan, &CATALOG, vec![], Permissions::default(), &Silent, &stop);
        let refused = refused.unwrap_err().to_string();
        let words = "of a server with 64 MiB that Larder did not start, more than a tenth";
        assert!(refused.contains(words), "{refused}");
    }
}

/// A tier in front has no TTL, and still no entry stays on the server for ever when the run is killed.
fn safety() {
    let (_server, address) = somebodys();
    let target = format!("perl+tiered:mmap:?size=1m|memcached://{address}");
    let over = AtomicBool::new(false);
    let seen = thread::scope(|scope| {
        let seen = scope.spawn(|| {
            let mut seen = Vec::new();
            while !over.load(Ordering::Relaxed) {
                seen.extend(expiries(&address));
            }
            seen
        });
        run(&[&target], "keys = 200\nrequests = 2000\noperations = ['set', 'get']");
        over.store(true, Ordering::Relaxed);
        seen.join().unwrap()
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let for_ever = seen.iter().filter(|end| end.is_none_or(|end| end > now + 86_400)).count();
    assert!(seen.len() > 100 && for_ever == 0, "{for_ever} of {} stay", seen.len());
}

/// The time at which each entry of a memcached expires, in seconds since 1970; `None` for never.
fn expiries(address: &str) -> Vec<Option<u64>> {
    let mut server = TcpStream::connect(address).unwrap();
    server.write_all(b"lru_crawler metadump all\r\n").unwrap();
    let lines = BufReader::new(server).lines().map(Result::unwrap);
    let entries = lines.take_while(|line| line.starts_with("key="));
    let end = |line: String| line.split(" exp=").nth(1)?.split(' ').next()?.parse().ok();
    entries.map(end).collect()
}

fn settings() {
    let target = "perl+tiered:memcached:?item_size=16k|memcached:?via=delay:1ms";
    let run = run(&[target], "keys = 20\noperations = 'set'");
    let settings = &run.targets[0].settings;
    let of = |name: &str| settings.get(name).map(String::as_str);
    assert_eq!((of("l1.via"), of("l2.via")), (None, Some("delay:1ms")), "{settings:#?}");
    let sizes = (of("l1.item_size_max"), of("l2.item_size_max"));
    assert_eq!(sizes, (Some("16384"), Some("1048576")), "{settings:#?}");
    let unplaced: Vec<_> = settings
        .keys()
        .filter(|name| !name.starts_with("l1.") && !name.starts_with("l2."))
        .collect();
    assert!(unplaced.is_empty(), "{unplaced:?}");
}
