//! `redis:` — one Redis or Valkey, or a cluster of them, through the client library `redis`.
//!
//! The library connects, authenticates, encrypts and parses; a session packs its commands into one buffer and hands
//! them over whole, so that an operation is one request and one answer. A cluster is routed here rather than by the
//! library, which asks for the keys of a batch slot by slot, one after the other, and which sleeps and tries again
//! inside an operation: a figure would then say how long it slept. No error of a server is swallowed, and a
//! connection on which an answer did not come to its end is not used again.
//!
//! The library's cost on top of the bytes on the wire (see the benchmark `floor_redis`) is paid by all its users: some
//! hundred nanoseconds an operation, and more for large values, which it reads in pieces of 8 KiB and copies once.

mod address;
mod cluster;
mod config;
mod connection;
mod layout;
mod managed;
mod many;
mod refusal;
mod request;
mod scripts;
mod session;
mod store;
mod survey;

use larder_store::{Engine, Medium, Recipe};

/// The scheme, and the name in messages.
const SCHEME: &str = "redis";

/// The server that is started when the URL names none.
const RECIPE: Recipe = Recipe::server("redis-server", "redis-server");

/// Its fork, which is started instead where the URL says so.
const VALKEY: Recipe =
    Recipe { server: "valkey", ..Recipe::server("valkey-server", "valkey-server") };

/// The engine as the catalog lists it.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &["rediss", "valkey", "valkeys"],
    summary: "Redis or Valkey, or a cluster of them; with no host, one is started",
    example: "redis://user:password@h1:6379/0?timeout=1s",
    medium: Medium::Memory,
    capacity_option: Some("memory"),
    recipes: &[RECIPE, VALKEY],
    options: config::schema,
    open: store::open,
};
