//! The introspection of a server.

use std::collections::BTreeMap;
use std::fs;

use larder_store::{Durability, Result};

use super::config::Persistence;
use super::connection::PostgresqlConnection;
use crate::network::runs_one_of;

/// Settings that are read from the server, by PostgreSQL's own names.
const READ_BACK: [&str; 9] = [
    "autovacuum",
    "fsync",
    "full_page_writes",
    "max_connections",
    "shared_buffers",
    "synchronous_commit",
    "synchronous_standby_names",
    "wal_level",
    "wal_writer_delay",
];

/// The introspection of a server when the store was opened.
#[derive(Debug)]
pub(super) struct Introspection {
    pub(super) version: Option<String>,
    /// The server's settings as this session has them; settings that the server lacks are absent.
    pub(super) settings: BTreeMap<String, String>,
    /// The version of TLS on this connection; `None` without TLS.
    pub(super) tls: Option<String>,
    /// The parent of the server process of this connection, when it runs on this machine.
    pub(super) pid: Option<u32>,
}

impl Introspection {
    /// Asks a server for everything.
    pub(super) fn of(connection: &mut PostgresqlConnection) -> Result<Self> {
        let names: Vec<String> = READ_BACK.iter().map(|name| format!("'{name}'")).collect();
        let question = format!(
            "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({}) \
             UNION ALL SELECT 'database', current_database()",
            names.join(", ")
        );
        let settings = connection.simple(&question)?;
        let settings = settings.into_iter().filter_map(|row| {
            let mut texts = row.into_iter();
            Some((texts.next()??, texts.next()??))
        });
        let settings = settings.collect();
        let version = one(connection, "SELECT version()")?;
        let tls = "SELECT version FROM pg_stat_ssl WHERE ssl AND pid = pg_backend_pid()";
        let tls = one(connection, tls)?;
        let pid = one(connection, "SELECT pg_backend_pid()")?.and_then(|pid| pid.parse().ok());
        let pid = pid.filter(|_| connection.peer().place().is_local()).and_then(postmaster_of);
        Ok(Self { version: version.map(|text| shortened(&text)), settings, tls, pid })
    }

    /// The durability of an acknowledged write in a table that is logged or not.
    ///
    /// An unlogged table is emptied after a crash of the server. A write that does not wait for the log is in the
    /// server's memory for up to three times `wal_writer_delay`. If the log is then not synced either, the write is at
    /// no point safe from the end of the server itself.
    pub(super) fn durability(&self, table: Persistence) -> Durability {
        let is = |name: &str, value: &str| self.settings.get(name).is_some_and(|it| it == value);
        match (table, is("fsync", "off"), is("synchronous_commit", "off")) {
            (Persistence::Unlogged, ..) | (_, true, true) => Durability::Volatile,
            (_, true, false) => Durability::OsCache,
            (_, false, true) => Durability::FsyncBatch,
            (_, false, false) => Durability::FsyncEach,
        }
    }
}

/// The first text of an answer.
fn one(connection: &mut PostgresqlConnection, question: &str) -> Result<Option<String>> {
    let rows = connection.simple(question)?;
    Ok(rows.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
}

/// `15.4` of `PostgreSQL 15.4 (Debian …) on …`; for another server that speaks the protocol, its name too.
fn shortened(version: &str) -> String {
    let words: Vec<&str> = version.split(' ').take(2).collect();
    match words[..] {
        ["PostgreSQL", version] => version.into(),
        _ => words.join(" "),
    }
}

/// The server that has a process of this machine as its child. A server behind a port may be in another container, and
/// its process ids mean other processes here.
fn postmaster_of(pid: u32) -> Option<u32> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let is_postgres = |pid: u32| runs_one_of(pid, &["postgres"]);
    parent(pid).filter(|parent| is_postgres(pid) && is_postgres(*parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durability_follows_from_the_log() {
        use Persistence::{Logged, Unlogged};
        for (table, fsync, synchronous_commit, durability) in [
            (Unlogged, "on", "on", Durability::Volatile),
            (Logged, "off", "off", Durability::Volatile),
            (Logged, "off", "on", Durability::OsCache),
            (Logged, "on", "off", Durability::FsyncBatch),
            (Logged, "on", "local", Durability::FsyncEach),
            (Logged, "on", "on", Durability::FsyncEach),
        ] {
            let pairs = [("fsync", fsync), ("synchronous_commit", synchronous_commit)];
            let settings = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            let introspection = Introspection { version: None, settings, tls: None, pid: None };
            assert_eq!(
                introspection.durability(table),
                durability,
                "{fsync}, {synchronous_commit}"
            );
        }
    }

    #[test]
    fn another_server_is_called_by_its_name() {
        assert_eq!(shortened("PostgreSQL 15.4 (Debian 15.4-1) on x86_64"), "15.4");
        assert_eq!(shortened("Else v23.1.0 (x86_64)"), "Else v23.1.0");
    }
}
