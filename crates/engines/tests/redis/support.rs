//! What the tests of `redis:` share.

use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use larder_engines::ENGINES;
use larder_engines::managed::{self, Account, Server};
use larder_engines::scratch::ScratchDir;
use larder_store::{Error, Recipe, Session, SetOptions, SetOutcome, Store, StoreUrl};
use larder_testkit::trial_where;
use libtest_mimic::Trial;
use redis::FromRedisValue;

const REDIS: Recipe = Recipe { program: "redis-server", package: "redis-server" };

/// A trial that needs a real redis-server.
pub(crate) fn trial(name: &str, run: fn()) -> Trial {
    let installed = || managed::find("test", &REDIS).map(drop).map_err(|error| error.to_string());
    trial_where(installed, name, run)
}

pub(crate) fn open(url: &str) -> Arc<dyn Store> {
    try_open(url).unwrap()
}

pub(crate) fn try_open(url: &str) -> Result<Arc<dyn Store>, Error> {
    ENGINES.open(&StoreUrl::parse(url)?)
}

/// The message of an error, which must be of this kind and one line.
pub(crate) fn failure<T>(result: Result<T, Error>, kind: &str) -> String {
    let error = result.err().unwrap_or_else(|| panic!("no error; `{kind}` was to come"));
    let message = error.to_string();
    assert_eq!(error.kind(), kind, "{message}");
    assert!(!message.contains('\n'), "{message}");
    message
}

pub(crate) fn set(session: &mut dyn Session, key: &str, value: &[u8]) {
    let outcome = session.set(key.as_bytes(), value, &SetOptions::default()).unwrap();
    assert_eq!(outcome, SetOutcome::Stored, "{key}");
}

pub(crate) fn get(session: &mut dyn Session, key: &str) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    let hit = session.get(key.as_bytes(), &mut value).unwrap();
    hit.map(|_| value)
}

/// Where the nodes of a store are.
pub(crate) fn nodes(store: &dyn Store) -> Vec<String> {
    store.info().settings["nodes"].split(", ").map(String::from).collect()
}

/// A connection of somebody else's to a server: `127.0.0.1:6379`, or with `user:password@` before it.
pub(crate) fn stranger(address: &str) -> redis::Connection {
    redis::Client::open(format!("redis://{address}")).unwrap().get_connection().unwrap()
}

/// What a server answers to a command of words without spaces.
pub(crate) fn ask<T: FromRedisValue>(link: &mut redis::Connection, command: &str) -> T {
    let mut words = command.split(' ');
    let mut packed = redis::cmd(words.next().unwrap());
    packed.arg(words.collect::<Vec<_>>());
    packed.query(link).unwrap()
}

/// A Redis that the engine under test did not start, on this port of 127.0.0.1, or on any for 0.
pub(crate) fn redis_server(port: u16, arguments: &[&str]) -> (Server, u16) {
    let port = if port == 0 { free_port() } else { port };
    let directory = ScratchDir::create("test").unwrap();
    let account = Account::for_server(&["redis", "nobody"], directory.path());
    let mut command = Command::new(managed::find("test", &REDIS).unwrap());
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
        .args(arguments);
    if let Some(account) = &account {
        account.run(&mut command);
    }
    let mut server =
        Server::start("test", command, directory, account.as_ref()).unwrap().without_grace();
    server
        .answer(Duration::from_secs(10), || {
            std::net::TcpStream::connect(("127.0.0.1", port)).ok().map(drop)
        })
        .unwrap();
    (server, port)
}

/// A port that nobody listens on now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
