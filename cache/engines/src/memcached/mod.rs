//! `memcached:` — one memcached, or a pool of them, over the text or the meta protocol.
//!
//! A session sends its requests on a link to every node. A call waits for the answer on such a link ([`calls`],
//! [`batch`]); a pipelined request does not ([`pipeline`]). No error of a server is swallowed, and a link whose answer did not
//! come to its end is not used again.
//!
//! Three other servers speak the protocol or a part of it, and are started where the URL says so: MySQL's plugin over
//! InnoDB ([`innodb`]), a proxy before a pool ([`twemproxy`]), and `larder serve` over any store ([`larder`]).
//! [`abilities`] has the operations that each leaves out; [`store_probe`] finds those of the store behind a `larder serve`.

mod abilities;
mod address;
mod answer;
mod batch;
mod calls;
mod config;
mod encryption;
mod errors;
mod fill_many;
mod innodb;
mod introspection;
mod keys;
mod larder;
mod lease_many;
mod leases;
mod limits;
mod managed;
mod outstanding;
mod pipeline;
mod reply;
mod request;
mod session;
mod store;
mod store_probe;
mod terms;
mod twemproxy;

use larder_store::{Engine, Medium, Recipe, Role, Source};

/// The scheme, and the name in messages.
const SCHEME: &str = "memcached";

/// The scheme of encrypted connections.
const ENCRYPTED: &str = "memcacheds";

/// The server that is started when the URL names none.
const RECIPE: Recipe = Recipe::server("memcached", "memcached");

/// MySQL with its memcached plugin.
const INNODB: Recipe = Recipe {
    role: Role::Server,
    server: "innodb",
    program: "bin/mysqld",
    folders: &[],
    source: Source::Setup("innodb"),
};

/// The proxy that stands before servers.
const TWEMPROXY: Recipe =
    Recipe { server: "twemproxy", ..Recipe::server("nutcracker", "nutcracker") };

/// Larder's own server.
const LARDER: Recipe = Recipe {
    role: Role::Server,
    server: "larder",
    program: "larder",
    folders: &[],
    source: Source::Own,
};

/// The engine as the catalog lists it.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[ENCRYPTED],
    summary: "memcached, or a pool of servers placed by ketama; with no host, a server is started",
    example: "memcached://h1:11211,h2:11211?timeout=1s",
    medium: Medium::Memory,
    capacity_option: Some("m"),
    connections_option: Some("max_connections"),
    recipes: &[RECIPE, INNODB, TWEMPROXY, LARDER],
    options: config::schema,
    open: store::open,
};
