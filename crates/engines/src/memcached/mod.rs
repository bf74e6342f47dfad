//! `memcached:` — one memcached, or a pool of them, over the text or the meta protocol.
//!
//! A session has a connection to every node that it has asked something of, blocking and without Nagle's delay.
//! A request is one write and its answer normally one read; a value is copied once, from the receive buffer to
//! where the caller wants it, and what does not fit that buffer is read there directly. No error of a server is
//! swallowed, and a connection on which an answer did not come to its end is not used again.

mod address;
mod config;
mod connection;
mod exchange;
mod managed;
mod many;
mod session;
mod socket;
mod store;
mod survey;

use larder_store::{Engine, Medium, Recipe};

/// The scheme, and the name in messages.
const SCHEME: &str = "memcached";

/// The server that is started when the URL names none.
const RECIPE: Recipe = Recipe::server("memcached", "memcached");

/// The engine as the catalog lists it.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "memcached, or a pool of them placed by ketama; with no host, one is started",
    example: "memcached://h1:11211,h2:11211?timeout=1s",
    medium: Medium::Memory,
    capacity_option: Some("m"),
    recipes: &[RECIPE],
    options: config::schema,
    open: store::open,
};
