//! The contract suite on the engines of this build. Every change tries the engines that most users begin with; the
//! nightly lane tries all engines, with the options that change their behaviour.

use std::process::ExitCode;

use larder_engines::ENGINES;
use larder_store::{Engine, StoreUrl};
use larder_testkit::Urls;

/// Cases in which several threads write at once.
const TOGETHER: &[&str] = &[
    "eight_threads_read_back_their_own_values",
    "readers_of_a_changing_entry_see_whole_values",
    "cas_loses_no_update_of_many_threads",
    "add_is_won_by_one_of_many_threads",
    "incr_loses_no_count_of_many_threads",
    "an_initial_number_is_stored_once_by_many_threads",
    "delete_if_is_won_by_one_of_many_threads",
];
/// MySQL 5.6 with its memcached plugin, which sometimes ends while many connections of several cases write at once.
const INNODB: &str = "memcached:?server=innodb&column=1048576";

/// The URLs that every change tries; a URL is left out where this build lacks its engine.
const CHANGE: &[&str] = &[
    "null:",
    "memory:",
    "mmap:",
    "file:",
    "lmdb:",
    "sqlite:",
    "memcached:",
    "memcached:?socket=on&protocol=text",
    "redis:",
    "redis:?nodes=2&ttl_left=on",
    "postgresql:",
    "tiered:moka:|lmdb:",
    "tiered:mmap:|memcached:|?tags=on",
];

/// All other engines, options and stacks; a URL is left out where this build lacks its engine.
const NIGHTLY: &[&str] = &[
    "mmap:?namespace=app",
    "moka:",
    // A value of the limit of a small shard would make other cases' entries leave.
    "quick_cache:?size=1g",
    "lmdb:?sync=group",
    "bdb:",
    "bdb:?type=hash",
    "redb:",
    "fjall:",
    "memcached:?nodes=4",
    "memcached:?tls=on",
    "memcached:?server=twemproxy&nodes=3",
    INNODB,
    "redis://me:s%40crt@?nodes=2&tls=on",
    "mysql:",
    "mongodb:",
    "tiered:memory:|mmap:",
    "tiered:moka:|memcached:",
    "tiered:memory:|memory:|?grace=1h",
    "tiered:memory:|memory:|?write=behind",
    "tiered:mmap:|memcached:|?write=around",
    "tiered:file:|moka:|redis:|?l1_ttl=1s",
    "memory:?compress=zstd:16&retry=2&breaker=5&metrics=on",
    "tiered:moka:|memcached:?breaker=5&compress=zstd:1k",
    "tiered:mmap:|redis:|?channel=tracking&l1_ttl=1s",
    "mmap:?size=256m&max_key=4k",
    "quick_cache:?size=1g&shards=1&entry=100",
    "file:?sync=on&size=64m&depth=0",
    "file:?mount=tmpfs:64m",
    "lmdb:?sync=each",
    "lmdb:?size=64m",
    "bdb:?sync=group",
    "sqlite:?sync=on",
    "sqlite:?sync=normal&size=64m",
    "redb:?sync=group",
    "fjall:?sync=group&memtable=1m",
    "memcached:?tls=on&protocol=text&nodes=2",
    "memcached:?via=delay:200us",
    "redis:?ttl_left=on",
    "redis:?via=delay:200us",
    "redis:?policy=noeviction",
    "redis:?socket=on&appendonly=everysec",
    "postgresql:?socket=on&table=logged&synchronous_commit=off",
    "postgresql:?tls=on&via=delay:200us",
    "mysql:?socket=on&flush=2",
    "mysql:?tls=on&via=delay:200us&flush=0",
    // Many writes without an answer keep the server from the driver's own questions for seconds.
    "mongodb:?w=0&sync_delay=0&timeout=30s",
    "mongodb:?tls=on&w=majority&journal=on&via=delay:200us",
    "tiered:moka:|lmdb:|?l1_ttl=off",
    "tiered:moka:|memory:",
    "tiered:mmap:|lmdb:",
    "tiered:mmap:|memcached:|?grace=1h",
    "tiered:memcached:|memcached:?nodes=2",
    "mmap:?retry=2&compress=lz4:1k",
    "lmdb:?compress=lz4:16",
    "memcached:?breaker=5&retry=1",
    "memcached:?compress=zstd:16&metrics=on",
    "tiered:mmap:|redis:?ttl_left=on|?grace=1h",
    "tiered:memory:|redis:?ttl_left=on|?tags=on&grace=1h",
];

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    let [change, nightly] = [CHANGE, NIGHTLY].map(|urls| {
        urls.iter()
            .copied()
            .filter(|url| StoreUrl::parse(url).is_ok_and(|url| is_built(&url)))
            .collect::<Vec<_>>()
    });
    let urls =
        Urls { change: &change, nightly: &nightly, one_by_one: &[INNODB], together: TOGETHER };
    larder_testkit::contract(&ENGINES, &urls)
}

/// Whether this build has the engine, and the engines of all tiers.
fn is_built(url: &StoreUrl) -> bool {
    ENGINES.find(url.scheme()).is_ok_and(Engine::is_built) && url.tiers().iter().all(is_built)
}
