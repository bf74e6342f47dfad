//! A connection on which each request is answered before the next: the greeting of every connection, and the questions that
//! are no calls of a session.

use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use larder_protocol::resp::{ParsedValue, ServerError, Value, parse_value};
use larder_store::Result;

use super::address::{Hello, Login, Node};
use super::config::Resp;
use super::request::add;
use super::{SCHEME, errors};
use crate::decimal::Digits;
use crate::socket::{Socket, wait_for_input};
use larder_host::destination::Destination;

/// The bytes that are read at once.
const READ_LEN: usize = 16 * 1024;

/// The longest wait for the beginning of an encrypted connection before it is tried whether the server speaks without.
const SILENCE: Duration = Duration::from_secs(1);

/// An open connection.
#[derive(Debug)]
pub(super) struct Dialogue {
    node: Node,
    socket: Socket,
    /// The longest silence of the node.
    timeout: Duration,
    /// Received, and read up to `n_read`.
    input: Vec<u8>,
    n_read: usize,
}

impl Node {
    /// Opens a connection and greets the node.
    pub(super) fn connect(&self, timeout: Duration) -> Result<Socket> {
        Dialogue::begin(self, timeout, false)?.into_socket()
    }
}

impl Dialogue {
    /// Opens a connection, logs in, and chooses the database. A server that speaks without TLS where it should not is named.
    pub(super) fn open(node: &Node, timeout: Duration) -> Result<Self> {
        Self::begin(node, timeout, true)
    }

    /// All of it takes no longer than the timeout.
    fn begin(node: &Node, timeout: Duration, asks: bool) -> Result<Self> {
        let failed = |error: io::Error| errors::failed(node, timeout, &error);
        let start = Instant::now();
        let socket = dial(node, timeout, asks)?;
        let left = timeout.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Err(failed(ErrorKind::TimedOut.into()));
        }
        let socket = socket.with_timeout(left).map_err(failed)?;
        let mut dialogue =
            Self { node: node.clone(), socket, timeout, input: Vec::new(), n_read: 0 };
        dialogue.greet()?;
        dialogue.socket = dialogue.socket.with_timeout(timeout).map_err(failed)?;
        Ok(dialogue)
    }

    /// All requests of a greeting take one round trip.
    fn greet(&mut self) -> Result<()> {
        let Hello { login, db, resp } = self.node.hello().clone();
        let credentials = |login: &Login| {
            let user = login.user.as_deref().unwrap_or("default");
            [user.to_owned(), login.password.clone()]
        };
        let mut request = Vec::new();
        let mut commands = Vec::new();
        match (resp, &login) {
            (Resp::Three, login) => {
                let credentials = login.as_ref().map(credentials);
                let words = [&b"HELLO"[..], b"3"].into_iter();
                let auth = credentials.iter().flat_map(|credentials| {
                    [&b"AUTH"[..]].into_iter().chain(credentials.iter().map(String::as_bytes))
                });
                add(&mut request, &words.chain(auth).collect::<Vec<_>>());
                commands.push("HELLO");
            }
            // A server before version 6 knows passwords, and no users.
            (Resp::Two, Some(Login { user, password })) => {
                let user = user.as_deref().map(str::as_bytes);
                let words = [&b"AUTH"[..]].into_iter().chain(user).chain([password.as_bytes()]);
                add(&mut request, &words.collect::<Vec<_>>());
                commands.push("AUTH");
            }
            (Resp::Two, None) => {}
        }
        if db != 0 {
            add(&mut request, &[b"SELECT", Digits::new(db.into()).as_bytes()]);
            commands.push("SELECT");
        }
        if commands.is_empty() {
            return Ok(());
        }
        self.send(&request)?;
        for command in commands {
            match (command, self.receive(command)?) {
                (_, Value::Okay) | ("HELLO", Value::Array(_)) => {}
                ("AUTH", Value::Error(error)) if knows_no_users(&error) => {
                    return self.greet_by_password();
                }
                (_, Value::Error(error)) => {
                    return Err(errors::refused_greeting(&self.node, command, &error));
                }
                (_, other) => return Err(errors::unexpected(&self.node, command, &other)),
            }
        }
        Ok(())
    }

    /// Logs in once more, at a server before version 6, which knows a password and no users.
    fn greet_by_password(&mut self) -> Result<()> {
        let Hello { login, db, .. } = self.node.hello().clone();
        let Some(Login { password, .. }) = login else { return Ok(()) };
        let db = Digits::new(db.into());
        let mut steps = vec![("AUTH", vec![&b"AUTH"[..], password.as_bytes()])];
        if db.as_bytes() != b"0" {
            // The first was refused, because there was no login before it.
            self.receive("SELECT")?;
            steps.push(("SELECT", vec![b"SELECT", db.as_bytes()]));
        }
        for (command, words) in steps {
            match self.ask(command, &words)? {
                Value::Okay => {}
                Value::Error(error) => {
                    return Err(errors::refused_greeting(&self.node, command, &error));
                }
                other => return Err(errors::unexpected(&self.node, command, &other)),
            }
        }
        Ok(())
    }

    /// The node at the other end.
    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    /// Sends a command and waits for the answer, which may be a refusal.
    pub(super) fn ask(&mut self, command: &'static str, words: &[&[u8]]) -> Result<Value> {
        let mut request = Vec::new();
        add(&mut request, words);
        self.send(&request)?;
        self.receive(command)
    }

    /// Sends commands. The caller must receive each answer.
    pub(super) fn send(&mut self, request: &[u8]) -> Result<()> {
        self.socket.send(request).map_err(|error| self.failed(&error))
    }

    /// Waits for the answer to a command.
    pub(super) fn receive(&mut self, command: &'static str) -> Result<Value> {
        loop {
            let input = &self.input[self.n_read..];
            match parse_value(input, command) {
                Ok(ParsedValue::Complete(value, len)) => {
                    self.n_read += len;
                    return Ok(value);
                }
                Ok(ParsedValue::Incomplete(needed)) => {
                    let missing = needed.saturating_sub(input.len()).max(READ_LEN);
                    self.read(missing)?;
                }
                Err(_) => return Err(errors::malformed(&self.node, input)),
            }
        }
    }

    fn read(&mut self, len: usize) -> Result<()> {
        self.input.drain(..self.n_read);
        self.n_read = 0;
        let received = self.socket.receive_onto(true, &mut self.input, len);
        received.map(drop).map_err(|error| self.failed(&error))
    }

    /// The connection, on which nothing is left to be read.
    pub(super) fn into_socket(self) -> Result<Socket> {
        match &self.input[self.n_read..] {
            [] => Ok(self.socket),
            left => Err(errors::unasked(&self.node, left)),
        }
    }

    fn failed(&self, error: &io::Error) -> larder_store::Error {
        errors::failed(&self.node, self.timeout, error)
    }
}

/// Opens a connection. A server without TLS would be silent: it waits for the end of a line, which never comes. So with `asks`, one
/// that is silent for a while is asked beside that whether it speaks without.
fn dial(node: &Node, timeout: Duration, asks: bool) -> Result<Socket> {
    let address = node.reached_at().destination(SCHEME)?;
    let mut speaks_without = false;
    let gives_up = |socket: BorrowedFd<'_>| {
        let silence = timeout.min(SILENCE);
        speaks_without =
            asks && !wait_for_input(socket, silence)? && speaks_without_tls(&address, silence);
        if speaks_without { Err(ErrorKind::InvalidData.into()) } else { Ok(()) }
    };
    let connected = Socket::connect_unless(&address, node.encryption(), timeout, gives_up);
    match connected {
        Err(_) if speaks_without => Err(errors::without_tls(node)),
        connected => connected.map_err(|error| errors::failed(node, timeout, &error)),
    }
}

/// Whether an error is that of a silence.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Whether a server refuses a user with a password because it knows none.
fn knows_no_users(error: &ServerError) -> bool {
    error.details().contains("wrong number of arguments")
}

/// Whether a server answers on a connection that is not encrypted. It may refuse the command.
fn speaks_without_tls(address: &Destination, within: Duration) -> bool {
    let mut first = [0];
    let answered = Socket::connect(address, None, within).and_then(|mut socket| {
        let mut request = Vec::new();
        add(&mut request, &[b"PING"]);
        socket.send(&request)?;
        socket.receive(true, &mut first)
    });
    answered.is_ok() && matches!(&first, b"+" | b"-")
}
