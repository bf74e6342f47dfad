//! Starts MySQL 5.6 with its memcached plugin.
//!
//! The plugin is a memcached inside mysqld whose engine reads and writes rows of a table. The client speaks no SQL:
//! one mysqld makes the tables and ends, and a second one loads the plugin from an init file.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use larder_host::managed::{self, Account, Server};
use larder_host::scratch::ScratchDir;
use larder_store::{ByteSize, Durability, Error, Result};

use super::config::MemcachedConfig;
use super::managed::{PORT_FILE, Started, port_node};
use super::{INNODB, SCHEME, introspection};
use crate::network;

/// Characters of the column for keys, as MySQL ships it.
pub(super) const KEY_COLUMN: usize = 32;

/// The longest start of the tables and the server; both together take about three seconds.
const START: Duration = Duration::from_mins(1);

/// The folder of the values.
const DATA: &str = "data";

/// The files of statements for the first mysqld and for the second.
const TABLES_FILE: &str = "tables.sql";
const INIT_FILE: &str = "init.sql";

/// The statement for the second mysqld, run once it is up: a plugin that is loaded earlier does not find its tables.
const INIT: &str = "INSTALL PLUGIN daemon_memcached SONAME 'libmemcached.so';\n";

/// MySQL's own tables, which are shipped in this folder.
const SYSTEM_TABLES: [&str; 2] = ["mysql_system_tables.sql", "mysql_system_tables_data.sql"];

/// Starts the server in a data folder of its own, and waits until the plugin answers.
pub(super) fn start(config: &MemcachedConfig) -> Result<Started> {
    let program = managed::find(SCHEME, &INNODB)?;
    // Links are resolved, because the account's access depends on the real folders of the program.
    let program = program.canonicalize().unwrap_or(program);
    let home = program.ancestors().nth(2).unwrap_or(Path::new("/"));
    let directory = ScratchDir::create(SCHEME)?;
    let account = account(directory.path(), home);
    prepare(directory.path(), home, account.as_ref(), config)?;

    // The first mysqld reads its statements from standard input, which a shell redirects from the file.
    let mut tables = Command::new("/bin/sh");
    tables.args(["-c", &format!("exec \"$0\" \"$@\" <{TABLES_FILE}")]).arg(&program);
    common_arguments(&mut tables, directory.path(), home, account.as_ref());
    tables.args(["--bootstrap", "--default-storage-engine=InnoDB"]);
    managed::run(SCHEME, tables, &directory, account.as_ref(), START)?;

    let mut command = Command::new(&program);
    common_arguments(&mut command, directory.path(), home, account.as_ref());
    let socket = network::socket_path(SCHEME, directory.path())?;
    let user = account.as_ref().map_or_else(String::new, |account| format!(" -u {}", account.name));
    let most = config.max_connections.map_or_else(String::new, |number| format!(" -c {number}"));
    command
        .arg("--skip-networking")
        .arg(argument("--socket", &socket))
        .arg(argument("--pid-file", &directory.path().join("pid")))
        .arg(argument("--init-file", &directory.path().join(INIT_FILE)))
        .arg(format!("--innodb-flush-log-at-trx-commit={}", config.flush))
        .arg(format!("--innodb-support-xa={}", u8::from(config.support_xa)))
        .arg(format!("--innodb-buffer-pool-size={}", config.buffer_pool_bytes()))
        .arg(format!("--loose-daemon-memcached-w-batch-size={}", config.w_batch))
        .arg(format!("--loose-daemon-memcached-r-batch-size={}", config.r_batch))
        // Without it, the plugin would listen on all addresses, at memcached's usual port. Port -1 is any free port.
        .arg(format!("--loose-daemon-memcached-option=-l 127.0.0.1 -p -1 -U 0{most}{user}"))
        .env("MEMCACHED_PORT_FILENAME", directory.path().join(PORT_FILE));
    // Its entries are lost at its end in any case, so it gets no grace.
    let mut server = Server::start(SCHEME, command, directory, account.as_ref())?.without_grace();
    let path = server.directory().to_owned();
    let node = server.answer(START, || {
        let node = port_node(&path, None)?;
        introspection::answers(&Arc::new(node.clone()), config.timeout.0).then_some(node)
    })?;
    Ok(Started {
        servers: vec![server],
        nodes: vec![node],
        version: Some("InnoDB memcached plugin".into()),
        settings: settings(config),
        data: vec![path.join(DATA)],
        ..Started::default()
    })
}

/// The durability of an acknowledged set. In a batch, writes before the last are acknowledged but not committed.
pub(super) fn durability(config: &MemcachedConfig, is_memory: bool) -> Durability {
    match (config.flush, config.w_batch) {
        (1, 1) if !is_memory => Durability::FsyncEach,
        (1 | 2, 1) if is_memory => Durability::OsCache,
        _ if is_memory => Durability::Volatile,
        _ => Durability::FsyncBatch,
    }
}

/// The account of the server: it can reach its own folder and the program's.
fn account(directory: &Path, home: &Path) -> Option<Account> {
    let names = ["mysql", "nobody"];
    let of_program = Account::for_server(&names, home);
    match of_program {
        Some(account) if account.name == "root" => Some(account),
        _ => Account::for_server(&names, directory),
    }
}

/// Makes the files that the servers read, and their data folder.
fn prepare(
    directory: &Path,
    home: &Path,
    account: Option<&Account>,
    config: &MemcachedConfig,
) -> Result<()> {
    let failed = |what: String| move |source| Error::Io { engine: SCHEME, what, source };
    let mut sql = b"CREATE DATABASE mysql;\nUSE mysql;\n".to_vec();
    for name in SYSTEM_TABLES {
        let file = home.join("share").join(name);
        let text = fs::read(&file).map_err(failed(format!("reading {}", file.display())))?;
        sql.extend_from_slice(&text);
        sql.push(b'\n');
    }
    sql.extend_from_slice(tables(config).as_bytes());
    for (name, text) in [(TABLES_FILE, &sql[..]), (INIT_FILE, INIT.as_bytes())] {
        let file = directory.join(name);
        fs::write(&file, text).map_err(failed(format!("writing {}", file.display())))?;
    }
    let data = directory.join(DATA);
    fs::create_dir(&data)
        .and_then(|()| account.map_or(Ok(()), |account| account.own(&data)))
        .map_err(failed(format!("creating {}", data.display())))
}

/// The plugin's tables as MySQL's `innodb_memcached_config.sql` makes them, with three differences. The column of
/// values has the width that was asked for, keys that differ in case are different keys, and the table starts empty.
fn tables(config: &MemcachedConfig) -> String {
    include_str!("innodb.sql")
        .replace("{key_column}", &KEY_COLUMN.to_string())
        .replace("{value_column}", &value_column(config))
}

/// The type of the column for values.
fn value_column(config: &MemcachedConfig) -> String {
    if config.cuts_values() { format!("VARCHAR({})", config.column) } else { "MEDIUMBLOB".into() }
}

/// Arguments of both servers.
fn common_arguments(
    command: &mut Command,
    directory: &Path,
    home: &Path,
    account: Option<&Account>,
) {
    command
        .arg("--no-defaults")
        .arg(argument("--basedir", home))
        .arg(argument("--datadir", &directory.join(DATA)))
        // The account of the server need not have access to the user's own temporary folder.
        .arg(argument("--tmpdir", &directory.join(DATA)))
        .arg(argument("--plugin-dir", &home.join("lib/plugin")))
        .arg(argument("--lc-messages-dir", &home.join("share")))
        .arg("--performance-schema=OFF");
    if let Some(account) = account {
        command.arg(format!("--user={}", account.name));
    }
}

fn argument(name: &str, path: &Path) -> std::ffi::OsString {
    let mut argument = std::ffi::OsString::from(name);
    argument.push("=");
    argument.push(path);
    argument
}

/// The settings of the server under MySQL's own names. Its memcached does not report them.
fn settings(config: &MemcachedConfig) -> Vec<(&'static str, String)> {
    vec![
        ("daemon_memcached_w_batch_size", config.w_batch.to_string()),
        ("daemon_memcached_r_batch_size", config.r_batch.to_string()),
        ("innodb_flush_log_at_trx_commit", config.flush.to_string()),
        ("innodb_support_xa", if config.support_xa { "ON" } else { "OFF" }.into()),
        ("innodb_buffer_pool_size", ByteSize(config.buffer_pool_bytes()).to_string()),
        ("key_column", format!("VARCHAR({KEY_COLUMN})")),
        ("value_column", value_column(config)),
    ]
}
