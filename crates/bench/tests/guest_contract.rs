//! The contract on every guest, at its defaults and with options that change its behaviour: the same cases as on every
//! engine.

use std::process::ExitCode;

use larder_bench::guest;
use larder_engines::ENGINES;

const URLS: &[&str] = &[
    "go+null:",
    "go+map:",
    "go+lru:",
    "go+ristretto:",
    "go+otter:",
    "go+theine:",
    // go+freecache: takes no value above a 1024th of its size, and the suite stores larger values than that.
    "go+bigcache:",
    "go+memcached:",
    "go+redis:",
    "java+null:",
    "java+memcached:",
    "java+memcached:?nodes=3&protocol=binary&hashing=ketama",
    "java+postgresql:",
    "java+map:",
    "java+caffeine:",
    "java+guava:",
    "java+ehcache:?tier=offheap",
    "java+hazelcast:",
    "java+lettuce:?nodes=2",
    "java+jedis:",
    "perl+null:",
    "perl+filecache:",
    "perl+filecache:?connect=operation&cache_depth=1&auto_purge_on_set=on&auto_purge_interval=1s",
    "perl+mmap:",
    "perl+fastmmap:",
    "perl+fastmmap:/dev/shm?size=64m&compressor=zlib",
    "perl+memcached:",
    "perl+memcached:?connect=operation&nodes=3&ketama_points=150",
    "perl+tiered:fastmmap:/dev/shm|memcached:",
    "perl+tiered:filecache:|fastmmap:?size=16m",
    "perl+tiered:fastmmap:|filecache:|?l1_drops_hits=on",
    "php+null:",
    "php+apcu:",
    "php+memcached:",
    "php+memcached:?connect=operation&nodes=2&distribution=ketama",
    // In smaller pieces each large value takes 44 ms, because the system waits before it sends the last piece.
    "php+memcache:?chunk_size=1m",
    "php+redis:",
    "php+mongodb:?w=0",
    "php+file:?depth=2",
    "php+file:?writes=unchecked",
    "php+symfony:?adapter=chain",
    "php+tiered:apcu:|memcached:",
    "node+null:?style=callback",
    "node+map:",
    "node+lru-cache:",
    "node+node-cache:",
    "node+keyv:",
    "node+memjs:?nodes=2&style=callback",
    "node+ioredis:",
    "python+null:",
    "python+dict:",
    "python+diskcache:",
    "python+diskcache:?shards=4&eviction_policy=least-recently-used&timeout=1m",
    "python+memcached:",
    "python+memcached:?nodes=3&ignore_exc=on&timeout=5s",
    "python+cachetools:",
    "python+lru_cache:?entry=33k",
    "python+cachebox:",
    "python+pylibmc:?nodes=2&hashing=ketama",
    "python+redis:",
    "ruby+null:",
    "ruby+hash:",
    "ruby+memorystore:",
    "ruby+filestore:",
    "ruby+dalli:",
    "ruby+tiered:memorystore:|dalli:",
];

fn main() -> ExitCode {
    larder_testkit::contract(&ENGINES.with_guests(guest::GUESTS), URLS)
}
