//! A connection that has subscribed.

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

use larder_protocol::Parsed;
use larder_protocol::resp::Value;
use larder_store::{Error, Event, Result, Subscription};

use super::event::{Arrived, parse};
use super::topic::{REPORT, Topic};
use crate::decimal::Digits;
use crate::redis::address::Node;
use crate::redis::config::Resp;
use crate::redis::dialogue::Dialogue;
use crate::redis::errors;
use crate::redis::request::add;
use crate::socket::{Socket, wait_for_any};

/// After so long a silence the server is asked whether it is still there.
const SILENCE: Duration = Duration::from_secs(1);

/// The longest wait for its answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The bytes that are read at once.
const READ_LEN: usize = 16 * 1024;

/// The most bytes of an answer that is not whole.
const MAX_ANSWER_LEN: usize = 64 << 20;

/// An open subscription on a connection of its own.
#[derive(Debug)]
pub(super) struct RedisSubscription {
    node: Node,
    topic: Topic,
    socket: Socket,
    timeout: Duration,
    /// Received, and not read yet from `read` on.
    input: Vec<u8>,
    read: usize,
    heard: Instant,
    /// When the server was asked whether it is there, as long as nothing has come since.
    asked: Option<Instant>,
}

impl RedisSubscription {
    pub(super) fn open(node: &Node, topic: Topic, timeout: Duration) -> Result<Self> {
        // In version 3, messages are pushes, which need not be told from the answers to requests here.
        let mut dialogue = Dialogue::open(&node.speaking(Resp::Two), timeout)?;
        if topic == Topic::Report {
            track(&mut dialogue)?;
        }
        let mut this = Self {
            node: node.clone(),
            topic,
            socket: dialogue.into_socket()?,
            timeout,
            input: Vec::new(),
            read: 0,
            heard: Instant::now(),
            asked: None,
        };
        let name = this.topic.name().to_owned();
        this.send(&[b"SUBSCRIBE", name.as_bytes()])?;
        loop {
            match this.take()? {
                Some(Arrived::Subscribed) => return Ok(this),
                Some(_) => return Err(errors::unasked(&this.node, &this.input)),
                None => this.receive(true)?,
            };
        }
    }

    /// What has arrived whole.
    fn take(&mut self) -> Result<Option<Arrived>> {
        let input = &self.input[self.read..];
        match parse(input, &self.topic) {
            Err(_) => Err(errors::malformed(&self.node, input)),
            Ok(Parsed::Incomplete) if input.len() > MAX_ANSWER_LEN => {
                Err(errors::malformed(&self.node, input))
            }
            Ok(Parsed::Incomplete) => Ok(None),
            Ok(Parsed::Complete(arrived, len)) => {
                self.read += len;
                Ok(Some(arrived))
            }
        }
    }

    fn send(&mut self, words: &[&[u8]]) -> Result<()> {
        let mut request = Vec::new();
        add(&mut request, words);
        self.socket.send(&request).map_err(|error| self.failed(&error))
    }

    /// Reads what has arrived; `false` where that is nothing.
    fn receive(&mut self, waits: bool) -> Result<bool> {
        self.input.drain(..self.read);
        self.read = 0;
        match self.socket.receive_onto(waits, &mut self.input, READ_LEN) {
            Ok(_) => {
                self.heard = Instant::now();
                self.asked = None;
                Ok(true)
            }
            Err(error) if !waits && error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Asks a server that has been silent whether it is there. An error where it did not answer.
    fn check(&mut self) -> Result<()> {
        match self.asked {
            Some(asked) if asked.elapsed() > PATIENCE => {
                Err(self.failed(&ErrorKind::TimedOut.into()))
            }
            None if self.heard.elapsed() > SILENCE => {
                self.asked = Some(Instant::now());
                self.send(&[b"PING"])
            }
            _ => Ok(()),
        }
    }

    fn failed(&self, error: &io::Error) -> Error {
        errors::failed(&self.node, self.timeout, error)
    }
}

/// Asks for the report of changed keys, on this connection.
fn track(dialogue: &mut Dialogue) -> Result<()> {
    let id = match dialogue.ask("CLIENT ID", &[b"CLIENT", b"ID"])? {
        Value::Integer(id) => u64::try_from(id).unwrap_or_default(),
        other => return Err(refused(dialogue, "CLIENT ID", &other)),
    };
    let id = Digits::new(id);
    let words: [&[u8]; 6] = [b"CLIENT", b"TRACKING", b"ON", b"REDIRECT", id.as_bytes(), b"BCAST"];
    match dialogue.ask("CLIENT TRACKING", &words)? {
        Value::Okay => Ok(()),
        other => Err(refused(dialogue, "CLIENT TRACKING", &other)),
    }
}

fn refused(dialogue: &Dialogue, command: &str, answer: &Value) -> Error {
    match answer {
        Value::Error(error) => errors::refused(dialogue.node(), error),
        other => errors::unexpected(dialogue.node(), command, other),
    }
}

impl Subscription for RedisSubscription {
    fn next(&mut self, patience: Duration) -> Result<Event> {
        let end = Instant::now() + patience;
        loop {
            match self.take()? {
                Some(Arrived::Event(event)) => return Ok(event),
                Some(Arrived::Pong) => continue,
                Some(Arrived::Subscribed) => {
                    return Err(errors::unasked(&self.node, REPORT.as_bytes()));
                }
                None => {}
            }
            if self.receive(false)? {
                continue;
            }
            self.check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Event::Silence);
            }
            let fd = self.socket.fd().as_raw_fd();
            let mut polled = [libc::pollfd { fd, events: libc::POLLIN, revents: 0 }];
            wait_for_any(&mut polled, left.min(SILENCE));
        }
    }
}
