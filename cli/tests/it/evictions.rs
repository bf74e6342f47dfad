//! Full servers that Larder did not start: no run evicts entries of other programs, unless `--yes` allows it.

use std::sync::Arc;

use larder_engines::ENGINES;
use larder_report::{Run, Severity};
use larder_store::{SetOptions, Stats, Store, StoreUrl};

use crate::scene::{Scene, assert_contains};
use crate::{Case, MEMCACHED, REDIS};

pub(crate) const CASES: &[Case] = &[
    (MEMCACHED, "a_full_memcached_is_filled_only_when_allowed", full_memcached),
    (MEMCACHED, "a_memcached_that_has_evicted_has_nothing_free", evicted_before),
    (MEMCACHED, "the_fullest_node_of_a_pool_counts", full_node),
    (REDIS, "a_full_redis_is_filled_only_when_allowed", full_redis),
    (MEMCACHED, "a_target_whose_server_begins_to_evict_is_measured_no_more", evicts_meanwhile),
];

/// A server that is external for the `larder` under test; it ends with this test.
struct Server {
    store: Arc<dyn Store>,
    address: String,
}

impl Server {
    fn start(url: &str) -> Self {
        let store = ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap();
        let address = store.info().settings["nodes"].clone();
        Self { store, address }
    }

    fn url(&self) -> String {
        format!("{}://{}", self.store.info().scheme, self.address)
    }

    /// Stores this number of entries, as other programs would.
    fn fill(&self, entries: u32, bytes: usize) {
        let mut session = self.store.session().unwrap();
        for number in 0..entries {
            session.set(&key(number), &vec![b'x'; bytes], &SetOptions::default()).unwrap();
        }
    }

    /// The number of these entries that are still there.
    fn kept(&self, entries: u32) -> usize {
        let mut session = self.store.session().unwrap();
        let keys: Vec<Vec<u8>> = (0..entries).map(key).collect();
        let mut kept = 0;
        for some in keys.chunks(100) {
            let some: Vec<&[u8]> = some.iter().map(|key| &key[..]).collect();
            session.get_many(&some, &mut |_, _, _| kept += 1).unwrap();
        }
        kept
    }

    fn stats(&self) -> Stats {
        self.store.stats().unwrap()
    }

    fn evictions(&self) -> u64 {
        self.stats().evictions.unwrap()
    }
}

fn key(number: u32) -> Vec<u8> {
    format!("user{number:06}").into_bytes()
}

/// The plan of most of these tests: 1.1 MiB, less than a tenth of the server.
fn small<'a>(targets: &[&'a str]) -> Vec<&'a str> {
    [&["compare", "-q"], targets, &["-k", "1000", "-r", "3", "-o", "out"]].concat()
}

/// Checks that the run is refused in one line, that nothing is stored or evicted, and that no result is written.
#[track_caller]
fn refuses(server: &Server, url: &str, entries: u32, parts: &[&str]) {
    let scene = Scene::new();
    let (sets, evictions) = (server.stats().sets, server.evictions());
    let others =
        [&["that Larder did not start: it may evict entries of other clients", "--yes"], parts];
    scene.larder(&small(&[url, "moka:"])).ends_with(2).complains(&others.concat());
    assert_eq!((server.stats().sets, server.evictions()), (sets, evictions), "it was touched");
    assert_eq!(server.kept(entries), entries as usize);
    assert!(!scene.path("out/run.json").exists());
}

fn severities(run: &Run, words: &str) -> Vec<Severity> {
    let is_it = |check: &&larder_report::Finding| check.text.contains(words);
    run.checks.iter().filter(is_it).map(|check| check.severity).collect()
}

const FROM_OTHERS: &str = "from a server that Larder did not start";

fn full_memcached() {
    let server = Server::start("memcached:?m=16");
    // The server evicted nothing, and no entry uses a quarter of its memory. But only the last page is in no slab
    // class.
    server.fill(12_500, 900);
    assert_eq!((server.evictions(), server.kept(12_500)), (0, 12_500));
    assert!(server.stats().bytes.unwrap() < 13 << 20);
    let parts = ["this plan may take 2.1 MiB", "1 MiB are free", "use fewer --keys"];
    refuses(&server, &server.url(), 12_500, &parts);
    let scene = Scene::new();
    let (url, evictions) = (server.url(), server.evictions());
    scene.larder(&[small(&[&url]), vec!["--yes"]].concat()).ends_with(0);
    let run = scene.run_json();
    let expected: &[Severity] =
        if server.evictions() > evictions { &[Severity::Warn] } else { &[] };
    assert_eq!(severities(&run, FROM_OTHERS), expected);
    assert!(run.cells.iter().all(|cell| cell.reason.is_none()), "it went on");
}

fn evicted_before() {
    let server = Server::start("memcached:?m=16");
    server.fill(20_000, 900);
    assert!(server.evictions() > 0);
    let kept = server.kept(20_000);
    let scene = Scene::new();
    let evictions = server.evictions();
    let parts = ["0 B are free", "--yes"];
    scene.larder(&small(&[&server.url()])).ends_with(2).complains(&parts);
    assert_eq!((server.kept(20_000), server.evictions()), (kept, evictions));
    // A run fills a server whose memory is half in use without `--yes`, and every earlier entry stays.
    let server = Server::start("memcached:?m=16");
    server.fill(5000, 900);
    scene.larder(&small(&[&server.url()])).ends_with(0);
    assert_eq!((server.kept(5000), server.evictions()), (5000, 0));
}

fn full_node() {
    let (empty, full) = (Server::start("memcached:?m=64"), Server::start("memcached:?m=16"));
    full.fill(12_500, 900);
    let pool = format!("memcached://{},{}", empty.address, full.address);
    refuses(&full, &pool, 12_500, &["2 MiB are free"]);
}

fn full_redis() {
    let server = Server::start("redis:?memory=16m&policy=allkeys-lru");
    let mut entries = 0;
    while server.stats().bytes.unwrap() < 15 << 20 {
        entries += 500;
        server.fill(entries, 900);
    }
    assert_eq!((server.evictions(), server.kept(entries)), (0, entries as usize));
    refuses(&server, &server.url(), entries, &["this plan may take 2.1 MiB"]);
}

fn evicts_meanwhile() {
    let server = Server::start("memcached:?m=64");
    let url = server.url();
    let scene = Scene::new();
    let endless = ["compare", &url, "moka:", "-k", "200", "-r", "1000", "-o", "out"];
    let mut larder = scene.start(&endless);
    larder.reaches("round 2 of");
    // Other programs need the room now.
    while server.evictions() == 0 {
        server.fill(200, 500_000);
    }
    larder.reaches(&format!("larder: {url} is lost: evictions grew by "));
    larder.signal(libc::SIGINT);
    assert_eq!(larder.ends(), Some(130));
    let run = scene.run_json();
    assert_eq!(severities(&run, FROM_OTHERS), [Severity::Error]);
    for cell in &run.cells {
        match &cell.reason {
            Some(reason) => {
                assert_eq!(cell.target, url);
                assert_contains(reason, &["entries of other clients may be among them; stopped"]);
            }
            None => assert_eq!(cell.target, "moka:"),
        }
    }
    assert_eq!(run.cells.iter().filter(|cell| cell.reason.is_some()).count(), 2);
    // No entry of the run is left there.
    let others = server.kept(200) as u64;
    assert_eq!(server.stats().items, Some(others), "keys of the run are left");
}
