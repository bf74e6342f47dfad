//! The contract on every guest, at its defaults and with options that change its behaviour: the same cases as on every
//! engine.

use std::process::ExitCode;

use larder_bench::guest;
use larder_engines::ENGINES;

const URLS: &[&str] = &[
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
    "perl+null:?interpreter=/usr/bin/perl",
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
    "php+null:?interpreter=php",
    "php+apcu:",
    "php+memcached:",
    "php+memcached:?connect=operation&nodes=2&distribution=ketama",
    // In smaller pieces each large value takes 44 ms, because the system waits before it sends the last piece.
    "php+memcache:?chunk_size=1m",
    "php+mongodb:?w=0",
    "php+file:?depth=2",
    "php+file:?writes=unchecked",
    "php+tiered:apcu:|memcached:",
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
];

fn main() -> ExitCode {
    larder_testkit::contract(&ENGINES.with_guests(guest::GUESTS), URLS)
}
