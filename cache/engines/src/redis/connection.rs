//! One thread's connection to one node.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use larder_store::Result;
use redis::{RedisResult, Value};

use super::address::Node;
use super::errors;
use super::request::Request;

/// The terms of a connection to a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// The longest silence of the node.
    pub(super) timeout: Duration,
    /// Whether a connection is kept after an operation.
    pub(super) keep: bool,
}

/// A connection to one node, opened when it is first needed and again after an error.
pub(super) struct Connection {
    node: Arc<Node>,
    terms: Terms,
    link: Option<redis::Connection>,
    /// The number of answers that are still due; above 0, the next answer is not the next
    /// request's.
    n_awaited: usize,
    /// The longest wait for bytes that the link is set to.
    wait: Duration,
}

impl Connection {
    pub(super) fn new(node: Arc<Node>, terms: Terms) -> Self {
        Self { node, terms, link: None, n_awaited: 0, wait: terms.timeout }
    }

    /// The server at the other end.
    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    /// Begins an operation, which may have a bound of its own for each wait: makes sure that there is a connection. True
    /// when the connection had to be opened. Another bound than before costs a system call.
    pub(super) fn begin(&mut self, bound: Option<Duration>) -> Result<bool> {
        let wait = bound.map_or(self.terms.timeout, |bound| bound.min(self.terms.timeout));
        let is_set = std::mem::replace(&mut self.wait, wait) == wait;
        if self.link.is_none() || self.n_awaited > 0 {
            return self.connect();
        }
        if !is_set {
            self.with_link(|link| link.set_read_timeout(Some(wait)))?;
        }
        Ok(false)
    }

    #[cold]
    fn connect(&mut self) -> Result<bool> {
        self.link = None;
        self.n_awaited = 0;
        let (timeout, wait) = (self.terms.timeout, self.wait);
        let connected = self.node.client().get_connection_with_timeout(wait).and_then(|link| {
            link.set_read_timeout(Some(wait))?;
            link.set_write_timeout(Some(timeout))?;
            Ok(link)
        });
        match connected {
            Ok(link) => {
                self.link = Some(link);
                Ok(true)
            }
            Err(error) => Err(errors::failed(&self.node, self.wait, &error)),
        }
    }

    /// Ends an operation.
    pub(super) fn end(&mut self) {
        if !self.terms.keep {
            self.link = None;
        }
    }

    /// Sends a request of one command, with the value for its gap, and waits for the answer, which may be a refusal.
    pub(super) fn exchange(&mut self, request: &Request, value: &[u8]) -> Result<Value> {
        self.with_link(|link| {
            send(link, request, value)?;
            link.recv_response()
        })
    }

    /// Sends a request of any number of commands; the caller must receive each answer.
    pub(super) fn send(&mut self, request: &Request, value: &[u8]) -> Result<()> {
        self.n_awaited = request.n_commands();
        self.with_link(|link| send(link, request, value))
    }

    /// Waits for an answer, which may be a refusal.
    pub(super) fn receive(&mut self) -> Result<Value> {
        let answer = self.with_link(redis::Connection::recv_response)?;
        self.n_awaited -= 1;
        Ok(answer)
    }

    /// Runs `act` on the connection; an error closes the connection.
    fn with_link<T>(
        &mut self,
        act: impl FnOnce(&mut redis::Connection) -> RedisResult<T>,
    ) -> Result<T> {
        let Some(link) = &mut self.link else { return Err(errors::closed(&self.node)) };
        act(link).map_err(|error| {
            self.link = None;
            errors::failed(&self.node, self.wait, &error)
        })
    }
}

/// Sends a request, with the value for its gap.
fn send(link: &mut redis::Connection, request: &Request, value: &[u8]) -> RedisResult<()> {
    match request.around_gap() {
        None => link.send_packed_command(request.bytes()),
        Some((before, after)) => {
            [before, value, after].into_iter().try_for_each(|part| link.send_packed_command(part))
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("node", &self.node)
            .field("is_open", &self.link.is_some())
            .field("n_awaited", &self.n_awaited)
            .finish_non_exhaustive()
    }
}
