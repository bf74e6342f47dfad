//! The servers of a run, and the wires from each host to them, which can be cut for a while.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use larder_engines::ENGINES;
use larder_host::delay_proxy::DelayProxy;
use larder_host::destination::Destination;
use larder_host::managed::{Server, find, free_port, on_free_port};
use larder_host::scratch::ScratchDir;
use larder_store::{Recipe, Result};
use larder_testkit::{Memcached, PATIENCE, signal};

/// A server that is stopped, killed and started anew on its port.
pub(crate) struct Restarted {
    kind: Kind,
    /// The address at which it listens.
    listen: &'static str,
    pub(crate) port: u16,
    server: Option<Running>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Memcached,
    Redis,
}

enum Running {
    Memcached(Memcached),
    Redis(Server),
}

impl Restarted {
    pub(crate) fn start(kind: Kind, listen: &'static str) -> Self {
        let (port, server) = match kind {
            Kind::Memcached => {
                let server = Memcached::start_at(listen, "-1");
                (server.port, Running::Memcached(server))
            }
            Kind::Redis => {
                let start = || {
                    let port = free_port("test")?;
                    Ok((port, redis(listen, port)?))
                };
                let (port, server) = on_free_port(start).unwrap();
                (port, Running::Redis(server))
            }
        };
        Self { kind, listen, port, server: Some(server) }
    }

    fn pid(&self) -> u32 {
        match self.server.as_ref().unwrap() {
            Running::Memcached(server) => server.pid(),
            Running::Redis(server) => server.pid(),
        }
    }

    /// Kills it, and starts it anew after a while, empty.
    pub(crate) fn restart(&mut self, after: Duration) {
        drop(self.server.take());
        sleep(after);
        self.server = Some(match self.kind {
            Kind::Memcached => {
                Running::Memcached(Memcached::start_at(self.listen, &self.port.to_string()))
            }
            Kind::Redis => Running::Redis(redis(self.listen, self.port).unwrap()),
        });
    }

    /// It does nothing for a while, and its connections stay.
    pub(crate) fn freeze(&self, time: Duration) {
        freeze(self.pid(), time);
    }

    /// Cuts the connections of all subscribers of a Redis: what is published meanwhile is lost for them.
    pub(crate) fn cut_subscribers(&self) {
        let mut client = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        client.write_all(b"CLIENT KILL TYPE pubsub\r\n").unwrap();
        let mut answer = [0; 64];
        let len = client.read(&mut answer).unwrap();
        assert!(answer[..len].starts_with(b":"), "{answer:?}");
    }
}

/// The program of a Redis.
pub(crate) fn redis_recipe() -> &'static Recipe {
    &ENGINES.find("redis").unwrap().recipes[0]
}

/// An empty Redis on this port. Where it listens for other hosts too, they are namespaces of this test.
fn redis(listen: &str, port: u16) -> Result<Server> {
    let mut command = Command::new(find("test", redis_recipe())?);
    command.args(["--port", &port.to_string(), "--bind", listen, "--save", ""]);
    command.args(["--protected-mode", "no"]);
    let directory = ScratchDir::create("test")?;
    let mut server = Server::start("test", command, directory, None)?.without_grace();
    server.answer(PATIENCE, || {
        let mut client = TcpStream::connect(("127.0.0.1", port)).ok()?;
        client.write_all(b"PING\r\n").ok()?;
        let mut answer = [0; 5];
        client.read_exact(&mut answer).ok()?;
        (answer == *b"+PONG").then_some(())
    })?;
    Ok(server)
}

/// The wire of a host to a server: a relay, which delays what passes.
pub(crate) struct Wire(DelayProxy);

impl Wire {
    pub(crate) fn to(address: &str, delay: &str) -> Self {
        let server = Destination::Tcp(vec![address.parse().unwrap()]);
        Self(DelayProxy::start("test", delay.parse().unwrap(), &[server]).unwrap())
    }

    pub(crate) fn address(&self) -> String {
        self.0.addresses()[0].to_string()
    }

    /// Nothing passes for a while. What was sent meanwhile arrives afterwards, late.
    pub(crate) fn part(&self, time: Duration) {
        freeze(self.0.pid(), time);
    }
}

/// Stops a process for a while.
fn freeze(pid: u32, time: Duration) {
    signal(pid, libc::SIGSTOP);
    sleep(time);
    signal(pid, libc::SIGCONT);
}
