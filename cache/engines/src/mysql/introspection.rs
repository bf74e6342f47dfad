//! The introspection of a server: version, settings, process id.

use std::collections::BTreeMap;
use std::path::Path;

use larder_store::{Durability, Result};

use super::address::Address;
use super::connection::MysqlConnection;
use super::errors;
use crate::network::runs_one_of;

/// Settings that are read from the server, by the names of MariaDB and MySQL; each has some that the other lacks.
const READ_BACK: [&str; 13] = [
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_doublewrite",
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "log_bin",
    "sync_binlog",
    "max_allowed_packet",
    "max_connections",
    "performance_schema",
    "query_cache_type",
    "transaction_isolation",
];

/// Variables that are read too, but not shown.
const ASKED: [&str; 3] = ["version", "pid_file", "datadir"];

/// The names of the programs whose process id a server may report.
const PROGRAMS: [&str; 2] = ["mariadbd", "mysqld"];

/// The introspection of a server when the store was opened.
#[derive(Debug)]
pub(super) struct Introspection {
    variables: BTreeMap<String, String>,
    /// The longest packet that the server takes.
    pub(super) packet_len: usize,
    /// Whether connections to the server are encrypted.
    pub(super) is_encrypted: bool,
}

impl Introspection {
    /// Asks a server for everything.
    pub(super) fn of(connection: &mut MysqlConnection, address: &Address) -> Result<Self> {
        let names: Vec<&str> = READ_BACK.into_iter().chain(ASKED).collect();
        let sql = format!("SHOW VARIABLES WHERE Variable_name IN ('{}')", names.join("', '"));
        let mut variables = BTreeMap::new();
        for row in connection.ask(&sql)? {
            if let Ok([name, value]) = <[String; 2]>::try_from(row) {
                variables.insert(name, value);
            }
        }
        let packet_len = variables.get("max_allowed_packet").and_then(|len| len.parse().ok());
        let packet_len = packet_len.ok_or_else(|| {
            errors::protocol(address, "no `max_allowed_packet` among its variables".into())
        })?;
        Ok(Self { variables, packet_len, is_encrypted: connection.is_encrypted()? })
    }

    /// The settings that the server reported.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        let known = READ_BACK.into_iter();
        let settings = known.filter_map(|name| Some((name.to_owned(), self.get(name)?.to_owned())));
        settings.collect()
    }

    /// The kind of the server, and its version.
    pub(super) fn version(&self) -> Option<String> {
        let version = self.get("version")?;
        // The prefix is for clients that do not know so high a version.
        let version = version.strip_prefix("5.5.5-").unwrap_or(version);
        Some(match version.split_once("-MariaDB") {
            Some((version, _)) => format!("MariaDB {version}"),
            None => format!("MySQL {version}"),
        })
    }

    /// The durability of an acknowledged write there.
    pub(super) fn durability(&self) -> Durability {
        let flush = self.get("innodb_flush_log_at_trx_commit");
        match (self.get("innodb_flush_method"), flush) {
            // For up to a second only the server has a write, and even then the disk gets no order to sync.
            (Some("nosync"), Some("0")) => Durability::Volatile,
            // The disk never gets an order to sync.
            (Some("nosync"), _) => Durability::OsCache,
            // MariaDB also has 3, the form of 1 from its early days.
            (_, Some("1" | "3")) => Durability::FsyncEach,
            // At 0 a second of writes is lost with the server's process, too.
            _ => Durability::FsyncBatch,
        }
    }

    /// The server's process id, when it runs on this machine and reports the file of its id.
    pub(super) fn pid(&self, address: &Address) -> Option<u32> {
        let file = Path::new(self.get("datadir")?).join(self.get("pid_file")?);
        let pid = std::fs::read_to_string(file).ok()?.trim().parse().ok()?;
        (address.place().is_local() && runs_one_of(pid, &PROGRAMS)).then_some(pid)
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn introspection(variables: &[(&str, &str)]) -> Introspection {
        let pairs = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Introspection { variables: pairs.collect(), packet_len: 1 << 24, is_encrypted: false }
    }

    #[test]
    fn a_server_is_called_by_its_name() {
        for (version, shown) in [
            ("10.11.19-MariaDB-0+deb12u1", "MariaDB 10.11.19"),
            ("5.5.5-10.3.39-MariaDB-log", "MariaDB 10.3.39"),
            ("8.0.36", "MySQL 8.0.36"),
            ("5.6.14-log", "MySQL 5.6.14-log"),
        ] {
            assert_eq!(introspection(&[("version", version)]).version().as_deref(), Some(shown));
        }
        assert_eq!(introspection(&[]).version(), None);
    }

    #[test]
    fn durability_follows_from_the_log_of_the_tables() {
        for (method, flush, durability) in [
            ("O_DIRECT", "1", Durability::FsyncEach),
            ("fsync", "2", Durability::FsyncBatch),
            ("fsync", "0", Durability::FsyncBatch),
            ("nosync", "1", Durability::OsCache),
            ("nosync", "0", Durability::Volatile),
        ] {
            let server =
                [("innodb_flush_method", method), ("innodb_flush_log_at_trx_commit", flush)];
            assert_eq!(introspection(&server).durability(), durability, "{method}, {flush}");
        }
    }
}
