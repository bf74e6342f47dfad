//! The limits of a server.

use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use larder_host::tls::TlsSettings;
use larder_protocol::key::MAX_KEY_LEN;
use larder_protocol::request::MAX_REQUEST_LINE;

use crate::log::LogFormat;

/// The settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Threads that wait for connections.
    pub threads: NonZero<usize>,
    /// Threads that call a store that may wait for a disk or another process.
    pub storage_threads: NonZero<usize>,
    /// The most connections at once.
    pub connections: usize,
    /// Connections that may wait to be accepted, for `stats settings`.
    pub backlog: i32,
    /// The largest value, in bytes.
    pub item_bytes: usize,
    /// The most bytes of requests and answers that all connections together buffer, beyond 2 KiB that each may have. Each event
    /// loop has its part of them, and at least space for two requests with the largest value.
    pub waiting_bytes: usize,
    /// The most requests of one connection before another connection has its turn.
    pub requests_a_turn: NonZero<usize>,
    /// The time after which a connection that says nothing is ended.
    pub idle: Option<Duration>,
    /// Whether `flush_all` is done.
    pub allows_flush: bool,
    /// Whether clients may end the server.
    pub allows_shutdown: bool,
    /// The file of the users that may log in; `None` lets every client.
    pub users: Option<PathBuf>,
    /// The encryption of the addresses that have it.
    pub tls: Option<TlsSettings>,
    /// The address at which metrics are read.
    pub metrics: Option<SocketAddr>,
    /// The time from which a request counts as slow, and is logged.
    pub slow: Option<Duration>,
    /// Whether each request calls the store alone, and not together with those of other clients: it has a span of its own then.
    pub answers_alone: bool,
    /// The form of messages to the operator.
    pub log: LogFormat,
}

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            threads: NonZero::new(cores.min(4)).unwrap_or(NonZero::<usize>::MIN),
            storage_threads: NonZero::new(16).unwrap_or(NonZero::<usize>::MIN),
            connections: 1024,
            backlog: 1024,
            item_bytes: 1 << 20,
            waiting_bytes: 64 << 20,
            requests_a_turn: NonZero::new(1024).unwrap_or(NonZero::<usize>::MIN),
            idle: None,
            allows_flush: true,
            allows_shutdown: false,
            users: None,
            tls: None,
            metrics: None,
            slow: None,
            answers_alone: false,
            log: LogFormat::Text,
        }
    }
}

impl Settings {
    /// The most bytes of a request: its line with the longest key, and its value.
    pub(crate) fn request_bytes(&self) -> usize {
        MAX_REQUEST_LINE.max(self.item_bytes + MAX_KEY_LEN + 256)
    }

    /// The most bytes that all connections buffer. It may be more than [`Settings::waiting_bytes`].
    pub fn all_waiting_bytes(&self) -> usize {
        self.waiting_bytes_of_an_event_loop().saturating_mul(self.threads.get())
    }

    /// The most bytes that the connections of one event loop buffer. Any value that is not too large fits.
    pub(crate) fn waiting_bytes_of_an_event_loop(&self) -> usize {
        (self.waiting_bytes / self.threads).max(2 * self.request_bytes())
    }
}
