//! A connection that has subscribed.

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

use larder_protocol::Parsed;
use larder_protocol::resp::{Reply, parse_reply};
use larder_store::{Event, Result, Subscription};

use super::event::{Arrived, parse};
use super::topic::{REPORT, Topic};
use crate::decimal::Digits;
use crate::redis::address::Node;
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
        let mut this = Self {
            node: node.clone(),
            topic,
            socket: node.connect(timeout)?,
            timeout,
            input: Vec::new(),
            read: 0,
            heard: Instant::now(),
            asked: None,
        };
        if this.topic == Topic::Report {
            this.track()?;
        }
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

    /// Asks for the report of changed keys, on this connection.
    fn track(&mut self) -> Result<()> {
        self.send(&[b"CLIENT", b"ID"])?;
        let id = self.answer("CLIENT ID", |reply| match reply {
            Reply::Integer(id) => u64::try_from(id).ok(),
            _ => None,
        })?;
        let id = Digits::new(id);
        self.send(&[b"CLIENT", b"TRACKING", b"ON", b"REDIRECT", id.as_bytes(), b"BCAST"])?;
        self.answer("CLIENT TRACKING", |reply| (reply == Reply::Simple(b"OK")).then_some(()))
    }

    /// Waits for a short answer to a command before the subscription.
    fn answer<T>(
        &mut self,
        command: &'static str,
        read: impl Fn(Reply<'_>) -> Option<T>,
    ) -> Result<T> {
        loop {
            let input = &self.input[self.read..];
            match parse_reply(input, command) {
                Err(_) => return Err(errors::malformed(&self.node, input)),
                Ok(Parsed::Complete(reply, len)) => {
                    let answer = match (read(reply), reply) {
                        (Some(answer), _) => answer,
                        (None, Reply::Error(line)) => {
                            return Err(match errors::server_error(line) {
                                Some(error) => errors::refused(&self.node, &error),
                                None => errors::malformed(&self.node, line),
                            });
                        }
                        (None, other) => {
                            return Err(errors::unexpected(&self.node, command, &other));
                        }
                    };
                    self.read += len;
                    return Ok(answer);
                }
                Ok(Parsed::Incomplete) => drop(self.receive(true)?),
            }
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
        self.socket.send(&request).map_err(|error| self.failed(error))
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
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Asks a server that has been silent whether it is there. An error where it did not answer.
    fn check(&mut self) -> Result<()> {
        match self.asked {
            Some(asked) if asked.elapsed() > PATIENCE => {
                Err(self.failed(ErrorKind::TimedOut.into()))
            }
            None if self.heard.elapsed() > SILENCE => {
                self.asked = Some(Instant::now());
                self.send(&[b"PING"])
            }
            _ => Ok(()),
        }
    }

    fn failed(&self, error: io::Error) -> larder_store::Error {
        errors::failed(&self.node, self.timeout, &error.into())
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
