//! `redis:` — one Redis or Valkey, or a cluster of them, through the client library `redis`.
//!
//! The library connects, authenticates, encrypts and parses. A session packs its commands into one buffer and hands
//! them over whole, so that an operation is one request and one answer. The session routes requests in a cluster
//! itself: the library asks for the keys of a batch slot by slot, one after the other. It also sleeps and tries again
//! inside an operation, and a figure would then include the sleep. No error of a server is swallowed, and a connection
//! whose answer did not come to its end is not used again.
//!
//! All users of the library pay its cost on top of the bytes on the wire (see the benchmark `floor_redis`). The cost is
//! some hundred nanoseconds an operation, and more for large values, which the library reads in pieces of 8 KiB and
//! copies once.

mod address;
mod arguments;
mod channel;
mod cluster;
mod config;
mod connection;
mod errors;
mod greet;
mod introspection;
mod layout;
mod lease_id;
mod lease_many;
mod leases;
mod managed;
mod many;
mod outstanding;
mod pipeline;
mod request;
mod routing;
mod script_answer;
mod script_run;
mod scripts;
mod session;
mod shared;
mod store;
mod write_many;

use larder_store::{Engine, Medium, Recipe};

/// The scheme, and the name in messages.
const SCHEME: &str = "redis";

/// The server that is started when the URL names none.
const RECIPE: Recipe = Recipe::server("redis-server", "redis-server");

/// Redis' fork, which is started instead where the URL says so.
const VALKEY: Recipe =
    Recipe { server: "valkey", ..Recipe::server("valkey-server", "valkey-server") };

/// The engine as the catalog lists it.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &["rediss", "valkey", "valkeys"],
    summary: "Redis or Valkey, or a cluster of them; with no host, a server is started",
    example: "redis://user:password@h1:6379/0?timeout=1s",
    medium: Medium::Memory,
    capacity_option: Some("memory"),
    connections_option: Some("max_connections"),
    recipes: &[RECIPE, VALKEY],
    options: config::schema,
    open: store::open,
};
