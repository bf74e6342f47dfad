//! The contract suite on every engine of this build, at its defaults and where an option changes its ways.

use std::process::ExitCode;

use larder_engines::ENGINES;

/// What is tried; a URL whose engine this build has not is left out.
const URLS: &[&str] = &[
    "null:",
    "moka:",
    "file:",
    "file:?depth=0",
    "file:?size=64m",
    "file:?sync=on",
    "lmdb:",
    "lmdb:?sync=on",
    "lmdb:?size=64m",
    "sqlite:",
    "sqlite:?sync=on",
    "sqlite:?sync=normal&size=64m",
    "memcached:",
    "memcached:?protocol=text",
    "memcached:?nodes=4",
    "memcached:?socket=on",
    "memcached:?via=delay:200us",
    "redis:",
    "redis:?socket=on",
    "redis:?via=delay:200us",
    "redis:?policy=noeviction",
    "redis:?appendonly=everysec",
    "redis:?nodes=3",
    "redis:?tls=on",
    "redis://me:s%40crt@?nodes=2&tls=on",
];

fn main() -> ExitCode {
    larder_host::relay::serve_if_asked();
    let built =
        |url: &&str| url.split(':').next().is_some_and(|scheme| ENGINES.find(scheme).is_ok());
    let urls: Vec<&str> = URLS.iter().copied().filter(built).collect();
    larder_testkit::contract(&ENGINES, &urls)
}
