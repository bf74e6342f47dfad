//! `mysql:` — one MariaDB or MySQL, through the client library `mysql`: entries as rows of an InnoDB table.
//!
//! Every operation is one prepared statement by the binary protocol, and so one round trip and one transaction. The
//! library waits for the server in the thread that asks, as most programs in front of such a server do. A connection on
//! which an answer did not come to its end is not used again; the next call opens another.
//!
//! On a server that somebody else has started the table is ours, and nothing else is touched: what a session needs
//! otherwise (strict mode, a short wait for locks) it sets for its own connection only.
//!
//! Entries expire by the clock of each client, not by that of the server: clients that share a table want clocks that agree.

mod address;
mod config;
mod connection;
mod managed;
mod refusal;
mod store;
mod survey;
mod table;

use larder_store::{Engine, Medium, Recipe};

/// The scheme, and the name in messages.
const SCHEME: &str = "mysql";

/// The server that is started when the URL names none.
const MARIADB: Recipe = Recipe::server("mariadbd", "mariadb-server");

/// The one that it was forked from, which is started instead where the URL says so. Debian has no package of it; where
/// MariaDB lies under its name, that is told.
const MYSQL: Recipe = Recipe { server: "mysql", ..Recipe::server("mysqld", "mysql-server") };

/// The engine as the catalog lists it.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &["mariadb"],
    summary: "MariaDB or MySQL, a table of InnoDB; with no host, one is started",
    example: "mysql://user:password@h1:3306/database?ssl-mode=REQUIRED&timeout=1s",
    medium: Medium::Files,
    // The memory of its buffer pool bounds no entries, and its files grow as they like.
    capacity_option: None,
    recipes: &[MARIADB, MYSQL],
    options: config::schema,
    open: store::open,
};
