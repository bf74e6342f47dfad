//! The contract on guests: the same cases as on engines. Every change tries one guest of a compiled language and one of an
//! interpreted language; the nightly lane tries all guests, and options that change their behaviour.

use std::process::ExitCode;

use larder_bench::guest;
use larder_engines::ENGINES;
use larder_testkit::Urls;

const CHANGE: &[&str] = &["java+map:", "perl+filecache:"];

const NIGHTLY: &[&str] = &[
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
    "java+caffeine:",
    "java+ehcache:?tier=offheap",
    "java+hazelcast:",
    "java+lettuce:?nodes=2",
    "perl+null:",
    "perl+mmap:",
    "perl+fastmmap:",
    "perl+larder:",
    "perl+memcached:",
    "perl+tiered:fastmmap:/dev/shm|memcached:",
    "php+null:",
    "php+apcu:",
    "php+memcached:",
    // In smaller pieces each large value takes 44 ms, because the system waits before it sends the last piece.
    "php+memcache:?chunk_size=1m",
    "php+redis:",
    "php+mongodb:?w=0",
    "php+file:?depth=2",
    "php+symfony:?adapter=chain",
    "php+larder:",
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
    "python+memcached:",
    "python+cachetools:",
    "python+lru_cache:?entry=33k",
    "python+cachebox:",
    "python+pylibmc:?nodes=2&hashing=ketama",
    "python+redis:",
    "python+larder:",
    "ruby+null:",
    "ruby+hash:",
    "ruby+memorystore:",
    "ruby+filestore:",
    "ruby+dalli:",
    "ruby+larder:",
    "ruby+tiered:memorystore:|dalli:",
    "java+guava:",
    "java+jedis:",
    "java+postgresql:",
    "java+memcached:?nodes=3&protocol=binary&hashing=ketama",
    "java+ehcache:",
    "perl+filecache:?connect=operation&cache_depth=1&auto_purge_on_set=on&auto_purge_interval=1s",
    "perl+fastmmap:/dev/shm?size=64m&compressor=zlib",
    "perl+memcached:?connect=operation&nodes=3&ketama_points=150",
    "perl+tiered:filecache:|fastmmap:?size=16m",
    "perl+tiered:fastmmap:|filecache:|?l1_drops_hits=on",
    "php+memcached:?connect=operation&nodes=2&distribution=ketama",
    "php+file:?writes=unchecked",
    "php+redis:?nodes=3",
    "php+symfony:",
    "php+symfony:?adapter=file",
    "python+diskcache:?shards=4&eviction_policy=least-recently-used&timeout=1m",
    "python+memcached:?nodes=3&ignore_exc=on&timeout=5s",
    "ruby+dalli:?connect=operation&nodes=2&raw=off",
    "ruby+filestore:?compression=on",
];

fn main() -> ExitCode {
    let urls = Urls { change: CHANGE, nightly: NIGHTLY, ..Urls::default() };
    larder_testkit::contract(&ENGINES.with_guests(guest::GUESTS), &urls)
}
