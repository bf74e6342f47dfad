//! The shared part of the tests of `redis:`.

use std::fs;
use std::process::Command;

use larder_host::managed::{self, Account, Server};
use larder_host::scratch::ScratchDir;
use larder_store::{Error, Recipe, Store};
use larder_testkit::{PATIENCE, has_program, trial_where};
use libtest_mimic::Trial;
use redis::FromRedisValue;

const REDIS: Recipe = Recipe::server("redis-server", "redis-server");

/// A trial that needs a real redis-server.
pub(crate) fn trial(name: &str, run: fn()) -> Trial {
    trial_where(|| has_program(&REDIS), name, run)
}

/// The addresses of a store's nodes.
pub(crate) fn nodes(store: &dyn Store) -> Vec<String> {
    store.info().settings["nodes"].split(", ").map(String::from).collect()
}

/// Another client's connection to a server, at `127.0.0.1:6379`, or with `user:password@` before it.
pub(crate) fn stranger(address: &str) -> redis::Connection {
    redis::Client::open(format!("redis://{address}")).unwrap().get_connection().unwrap()
}

/// The answer of a server to a command of words without spaces.
pub(crate) fn ask<T: FromRedisValue>(link: &mut redis::Connection, command: &str) -> T {
    let mut words = command.split(' ');
    let mut packed = redis::cmd(words.next().unwrap());
    packed.arg(words.collect::<Vec<_>>());
    packed.query(link).unwrap()
}

/// A Redis that the engine under test did not start, on this port of 127.0.0.1; 0 is any port.
pub(crate) fn redis_server(port: u16, arguments: &[&str]) -> (Server, u16) {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let (server, [port]) = redis_server_on([port], |_| arguments.clone());
    (server, port)
}

/// The same on several ports: the first is its `port`, and `arguments` names the other ports.
pub(crate) fn redis_server_on<const N: usize>(
    ports: [u16; N],
    arguments: impl Fn([u16; N]) -> Vec<String>,
) -> (Server, [u16; N]) {
    const ATTEMPTS: usize = 10;
    for _ in 1..ATTEMPTS {
        let ports =
            ports.map(|port| if port == 0 { managed::free_port("test").unwrap() } else { port });
        match start_redis(ports[0], &arguments(ports)) {
            // Another process took this port first.
            Err(error) if error.to_string().contains("Address already in use") => {}
            started => return (started.unwrap(), ports),
        }
    }
    panic!("no port was free in {ATTEMPTS} attempts");
}

fn start_redis(port: u16, arguments: &[String]) -> Result<Server, Error> {
    let directory = ScratchDir::create("test")?;
    let account = Account::for_server(&["redis", "nobody"], directory.path());
    let mut command = Command::new(managed::find("test", &REDIS)?);
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
        .args(arguments);
    if let Some(account) = &account {
        account.run(&mut command);
    }
    let mut server = Server::start("test", command, directory, account.as_ref())?.without_grace();
    // The server's own log tells that this server listens on the port, and not another. The server may want a password.
    let log = server.directory().join("server.log");
    server.answer(PATIENCE, || {
        let is_ready = fs::read_to_string(&log).ok()?.contains("Ready to accept connections");
        is_ready.then_some(())
    })?;
    Ok(server)
}
