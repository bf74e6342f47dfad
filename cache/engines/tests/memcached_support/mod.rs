//! The shared part of the tests of `memcached:`.

use std::net::TcpStream;
use std::process::Command;

use larder_host::managed::{self, Account, Server};
use larder_host::scratch::ScratchDir;
use larder_store::Recipe;
use larder_testkit::{PATIENCE, has_program, trial_where};
use libtest_mimic::Trial;

const MEMCACHED: Recipe = Recipe::server("memcached", "memcached");

/// A trial that needs a real memcached.
pub(crate) fn trial(name: &str, run: fn()) -> Trial {
    trial_where(|| has_program(&MEMCACHED), name, run)
}

/// A memcached that the engine under test did not start, on this port of 127.0.0.1, or on any for 0.
pub(crate) fn memcached(port: u16, arguments: &[&str]) -> (Server, u16) {
    let directory = ScratchDir::create("test").unwrap();
    let account = Account::for_server(&["memcache", "nobody"], directory.path());
    let mut command = Command::new(managed::find("test", &MEMCACHED).unwrap());
    let port = if port == 0 { "-1".into() } else { port.to_string() };
    command.args(["-l", "127.0.0.1", "-U", "0", "-p", &port]).args(arguments);
    if let Some(account) = &account {
        command.args(["-u", &account.name]);
    }
    let port_file = directory.path().join("port");
    command.env("MEMCACHED_PORT_FILENAME", &port_file);
    let server = Server::start("test", command, directory, account.as_ref()).unwrap();
    let mut server = server.without_grace();
    let port = server.answer(PATIENCE, || {
        let text = std::fs::read_to_string(&port_file).ok()?;
        let port = text.trim().rsplit(' ').next()?.parse().ok()?;
        TcpStream::connect(("127.0.0.1", port)).is_ok().then_some(port)
    });
    (server, port.unwrap())
}
