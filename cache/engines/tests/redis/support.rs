//! The shared part of the tests of `redis:`.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use larder_host::managed::{self, Account, Server};
use larder_host::scratch::ScratchDir;
use larder_protocol::resp::{ParsedValue, ServerError, Value, parse_value};
use larder_store::{Error, Recipe, Store};
use larder_testkit::{PATIENCE, has_program, trial_where};
use libtest_mimic::Trial;

const REDIS: Recipe = Recipe::server("redis-server", "redis-server");

/// A trial that needs a real redis-server.
pub(crate) fn trial(name: &str, run: fn()) -> Trial {
    trial_where(|| has_program(&REDIS), name, run)
}

/// The addresses of a store's nodes.
pub(crate) fn nodes(store: &dyn Store) -> Vec<String> {
    store.info().settings["nodes"].split(", ").map(String::from).collect()
}

/// Another client's connection to a server, which shares no code of the engine but the parser of replies.
pub(crate) struct Stranger {
    stream: TcpStream,
    input: Vec<u8>,
}

/// Such a connection to `127.0.0.1:6379`, or with `user:password@` before it.
pub(crate) fn stranger(address: &str) -> Stranger {
    let (login, address) = address.rsplit_once('@').unwrap_or(("", address));
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stranger = Stranger { stream, input: Vec::new() };
    if let Some((user, password)) = login.split_once(':') {
        ask::<()>(&mut stranger, &format!("AUTH {user} {password}"));
    }
    stranger
}

/// The answer of a server to a command of words without spaces.
pub(crate) fn ask<T: FromAnswer>(stranger: &mut Stranger, command: &str) -> T {
    try_ask(stranger, command).unwrap()
}

/// The same, where the server may refuse the command.
pub(crate) fn try_ask<T: FromAnswer>(
    stranger: &mut Stranger,
    command: &str,
) -> Result<T, ServerError> {
    let Stranger { stream, input } = stranger;
    let words: Vec<&str> = command.split(' ').collect();
    let mut request = format!("*{}\r\n", words.len());
    for word in words {
        write!(request, "${}\r\n{word}\r\n", word.len()).unwrap();
    }
    stream.write_all(request.as_bytes()).unwrap();
    loop {
        if let ParsedValue::Complete(value, len) = parse_value(input, "").unwrap() {
            input.drain(..len);
            return match value {
                Value::Error(error) => Err(error),
                value => Ok(T::from_answer(value)),
            };
        }
        let mut piece = [0; 4096];
        let n_read = stream.read(&mut piece).unwrap();
        assert!(n_read > 0, "the server closed the connection");
        input.extend_from_slice(&piece[..n_read]);
    }
}

/// What an answer may be read as.
pub(crate) trait FromAnswer {
    fn from_answer(answer: Value) -> Self;
}

impl FromAnswer for () {
    fn from_answer(_: Value) {}
}

impl FromAnswer for String {
    fn from_answer(answer: Value) -> Self {
        match answer {
            Value::Bulk(bytes) => Self::from_utf8(bytes).unwrap(),
            Value::Simple(text) => text,
            other => panic!("no text: {other:?}"),
        }
    }
}

impl FromAnswer for i64 {
    fn from_answer(answer: Value) -> Self {
        match answer {
            Value::Integer(number) => number,
            other => panic!("no number: {other:?}"),
        }
    }
}

impl FromAnswer for u64 {
    fn from_answer(answer: Value) -> Self {
        i64::from_answer(answer).try_into().unwrap()
    }
}

impl FromAnswer for Vec<String> {
    fn from_answer(answer: Value) -> Self {
        match answer {
            Value::Array(values) => values.into_iter().map(String::from_answer).collect(),
            other => panic!("no list: {other:?}"),
        }
    }
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
