//! `mysql:` — one MariaDB or MySQL, through the client library `mysql`: entries as rows of an InnoDB table.
//!
//! Every operation is one prepared statement in the binary protocol, and so one round trip and one transaction. The
//! library waits for the server in the calling thread, as most programs in front of such a server do. A connection
//! whose answer did not come to its end is not used again; the next call opens another.
//!
//! On an external server the store changes only its own table. The other settings that a session needs (strict mode, a
//! short wait for locks) hold for its own connection only.
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

use larder_store::{Engine, Medium, Recipe};

/// The scheme, and the name in messages.
const SCHEME: &str = "mysql";

/// The server that is started when the URL names none.
const MARIADB: Recipe = Recipe::server("mariadbd", "mariadb-server");

/// MySQL, from which MariaDB was forked, is started instead where the URL says so. Debian has no package of MySQL;
/// where the program of its name is MariaDB's, an error says so.
const MYSQL: Recipe = Recipe { server: "mysql", ..Recipe::server("mysqld", "mysql-server") };

/// The engine as the catalog lists it.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &["mariadb"],
    summary: "MariaDB or MySQL, a table of InnoDB; with no host, a server is started",
    example: "mysql://user:password@h1:3306/database?ssl-mode=REQUIRED&timeout=1s",
    medium: Medium::Files,
    // The buffer pool's memory is no limit of entries, and the files grow without one.
    capacity_option: None,
    connections_option: None,
    recipes: &[MARIADB, MYSQL],
    options: config::schema,
    open: store::open,
};
