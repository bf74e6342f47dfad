//! The state that the sessions of a store share: the layout of the cluster, the terms of connections, and the limits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use larder_host::delay_proxy::DelayProxy;
use larder_host::managed::Server;
use larder_store::counters::{Counters, Requests};
use larder_store::{Error, Remaining, Result, SetMode, SetOptions};

use super::address::{Greeting, Node};
use super::layout::Layout;
use super::routing::Doubt;
use super::{SCHEME, errors, introspection};

/// The terms of connections to nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// The longest silence of a node.
    pub(super) timeout: Duration,
    /// Whether a connection is kept after an operation.
    pub(super) keep: bool,
}

/// The state that sessions share; the started servers and the relay end with the last session.
#[derive(Debug)]
pub(super) struct Shared {
    /// Never locked during a request to a node.
    pub(super) layout: Mutex<Arc<Layout>>,
    /// The nodes of the URL, or those that were started.
    pub(super) seeds: Vec<Arc<Node>>,
    pub(super) greeting: Greeting,
    pub(super) terms: Terms,
    pub(super) longest_string: usize,
    /// Whether a read reports the remaining TTL.
    pub(super) reports_ttl: bool,
    pub(super) n_connections: AtomicU64,
    pub(super) requests: Counters<Requests>,
    pub(super) delay_proxy: Option<DelayProxy>,
    pub(super) servers: Vec<Server>,
}

impl Shared {
    /// The layout that is known now.
    pub(super) fn layout(&self) -> Arc<Layout> {
        Arc::clone(&self.lock_layout())
    }

    fn lock_layout(&self) -> MutexGuard<'_, Arc<Layout>> {
        self.layout.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A layout newer than `old`: the layout that another session has found meanwhile, or else the report of the first
    /// node that answers within the time that is left.
    pub(super) fn renewed(
        &self,
        old: &Layout,
        doubt: Doubt,
        time_left: impl Fn() -> Duration,
    ) -> Result<Arc<Layout>> {
        let known = self.layout();
        if !known.is_as_reported(old) {
            return Ok(known);
        }
        let mut first_error = None;
        for node in old.sources(&self.seeds, doubt) {
            match ask_layout(&node, &self.greeting, time_left()) {
                Ok(renewed) => {
                    let renewed = Arc::new(renewed);
                    *self.lock_layout() = Arc::clone(&renewed);
                    return Ok(renewed);
                }
                Err(error) => drop(first_error.get_or_insert(error)),
            }
        }
        first_error.map_or(Ok(known), Err)
    }

    /// The layout with the node at an address in it, and the place of that node.
    pub(super) fn place_of(
        &self,
        host: &str,
        port: u16,
        reporter: &Node,
    ) -> Result<(Arc<Layout>, usize)> {
        let mut layout = self.lock_layout();
        let mut extended = Layout::clone(&layout);
        let place = extended.place_of(host, port, reporter, &self.greeting)?;
        if extended.nodes().len() > layout.nodes().len() {
            *layout = Arc::new(extended);
        }
        Ok((Arc::clone(&layout), place))
    }

    pub(super) fn terms(&self) -> Terms {
        self.terms
    }

    pub(super) fn count_connection(&self) {
        self.n_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether Larder started the servers.
    pub(super) fn is_managed(&self) -> bool {
        !self.servers.is_empty()
    }

    /// Whether requests are sent without waiting for the answers to those before.
    pub(super) fn has_pipeline(&self) -> bool {
        self.terms.keep && !self.reports_ttl
    }

    /// Whether a read reports the remaining TTL.
    pub(super) fn reports_ttl(&self) -> bool {
        self.reports_ttl
    }

    /// The argument of a script for whether it reports the TTL.
    pub(super) fn asks_ttl(&self) -> &'static [u8] {
        if self.reports_ttl { b"1" } else { b"0" }
    }

    /// A server's TTL in milliseconds, which is negative for none.
    pub(super) fn remaining(&self, left: i64) -> Remaining {
        match u64::try_from(left) {
            _ if !self.reports_ttl => Remaining::Unknown,
            Ok(left) => Remaining::For(Duration::from_millis(left)),
            Err(_) => Remaining::Forever,
        }
    }

    /// The longest key or value that every node takes.
    pub(super) fn longest_string(&self) -> usize {
        self.longest_string
    }
}

impl Shared {
    /// Refuses an entry that a server cannot keep as it is asked to.
    pub(super) fn check_set(&self, key: &[u8], options: &SetOptions) -> Result<()> {
        self.check(key)?;
        if options.flags != 0 {
            return Err(Error::Unsupported { engine: SCHEME, operation: "flags" });
        }
        if matches!(options.mode, SetMode::Cas(_)) {
            return Err(Error::Unsupported { engine: SCHEME, operation: "cas" });
        }
        Ok(())
    }

    /// Refuses a key for which a server would close the connection.
    #[inline]
    pub(super) fn check(&self, key: &[u8]) -> Result<()> {
        let limit = self.longest_string();
        if key.len() > limit {
            return Err(Error::KeyTooLong { engine: SCHEME, len: key.len(), limit });
        }
        Ok(())
    }

    /// The error of a value for which a server would close the connection.
    pub(super) fn too_large(&self, len: usize) -> Error {
        Error::ValueTooLarge { engine: SCHEME, len, limit: self.longest_string() }
    }
}

/// Asks a node for the slots of its cluster.
pub(super) fn ask_layout(
    node: &Arc<Node>,
    greeting: &Greeting,
    timeout: Duration,
) -> Result<Layout> {
    let answer = introspection::ask(node, timeout, "CLUSTER", &[b"CLUSTER", b"SLOTS"])?;
    Layout::read(&answer, node, greeting)
        .unwrap_or_else(|| Err(errors::unexpected(node, "CLUSTER SLOTS", &answer)))
}
