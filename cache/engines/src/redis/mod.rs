//! `redis:` — one Redis or Valkey, or a cluster of them.
//!
//! A session sends its requests on links that it shares with no other ([`client`]). A call waits for the answer on such a link
//! ([`calls`], [`batch`]), and follows the redirections of a cluster. A pipelined request is sent once, and to one node
//! ([`pipeline`]). No error of a server is swallowed, and a connection whose answer did not come to its end is not used again.
//!
//! The greeting of a connection, and what is asked beside the calls of sessions, is a [`dialogue`].

mod address;
mod arguments;
mod batch;
mod calls;
mod channel;
mod client;
mod cluster;
mod config;
mod dialogue;
mod errors;
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
