//! `postgresql:` — entries as rows of a table of PostgreSQL, through the driver `tokio-postgres`.
//!
//! The statements and the cache logic around them are those of every SQL engine ([`crate::sql`]). This module has only
//! PostgreSQL's own part: its addresses as libpq writes them, TLS, the server that is started when a URL names none,
//! and the driver. The driver is asynchronous and a session is not: each session has a small runtime in its own thread,
//! and drives its connection only while it waits for an answer. So an operation wakes no other thread, and has a time
//! limit in the client whatever the server does.
//!
//! Entries expire by the clock of each client, not by that of the server, so clients that share a table need clocks
//! that agree.

mod address;
mod config;
mod connection;
mod errors;
mod introspection;
mod managed;
mod store;
mod table;
mod tls;

use larder_store::{Engine, Medium, Recipe};

/// The scheme, and the name in messages.
const SCHEME: &str = "postgresql";

/// The server that is started when the URL names none. Debian puts its programs into a folder outside `PATH`.
const RECIPE: Recipe =
    Recipe { folders: &["/usr/lib/postgresql/*/bin"], ..Recipe::server("postgres", "postgresql") };

/// The engine as the catalog lists it.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &["postgres"],
    summary: "PostgreSQL: rows of a table, logged or not; with no host, a server is started",
    example: "postgresql://user:password@h1:5432/database?table=unlogged&sslmode=require",
    medium: Medium::Files,
    // A table grows with its entries; a server has no option that limits it.
    capacity_option: None,
    connections_option: None,
    recipes: &[RECIPE],
    options: config::schema,
    open: store::open,
};
