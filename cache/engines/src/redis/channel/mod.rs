//! The channels of a server: publish and subscribe, and its own report of changed keys.
//!
//! Messages of a named channel are published on `larder:<name>`. The report is client tracking in broadcast mode, without a
//! prefix: the server reports each key that any client changes, and each that it drops itself. RESP2 suffices for
//! both: a connection redirects the report to itself, where it arrives as a message.
//!
//! A channel is of one server. Tracking in a cluster would need a connection to each node, and is refused.

mod event;
mod subscription;
mod topic;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use larder_protocol::resp::Value;
use larder_store::{Channel, ChannelKind, Error, Message, Result, Subscription};

use self::subscription::RedisSubscription;
use self::topic::Topic;
use super::address::Node;
use super::dialogue::Dialogue;
use super::shared::Shared;
use super::{SCHEME, errors};

/// The beginning of the names of channels, which other programs use too.
const PREFIX: &str = "larder:";

/// An open channel.
pub(super) struct RedisChannel {
    node: Arc<Node>,
    topic: Topic,
    /// Keeps servers that were started, and the relay.
    shared: Arc<Shared>,
    /// The connection for messages, opened by the first and again after an error.
    publisher: Mutex<Option<Dialogue>>,
}

impl RedisChannel {
    pub(super) fn new(shared: &Arc<Shared>, kind: ChannelKind<'_>) -> Result<Self> {
        let layout = shared.layout();
        if layout.is_cluster() {
            let reason = "a channel is of one server, and this is a cluster; name a server for \
                          the channel that is no part of a cluster";
            return Err(Error::InvalidOptions { engine: SCHEME, reason: reason.into() });
        }
        let Some(node) = layout.owners().into_iter().next() else {
            let what = "no node".into();
            return Err(Error::Unavailable { engine: SCHEME, what, source: None });
        };
        let topic = match kind {
            ChannelKind::Named(name) => Topic::Named(format!("{PREFIX}{name}")),
            ChannelKind::OwnWrites => Topic::Report,
        };
        Ok(Self { node, topic, shared: Arc::clone(shared), publisher: Mutex::default() })
    }
}

impl Channel for RedisChannel {
    fn publish(&self, message: &Message) -> Result<()> {
        let Topic::Named(name) = &self.topic else {
            return Err(Error::Unsupported { engine: SCHEME, operation: "publish" });
        };
        let mut publisher = self.publisher.lock().unwrap_or_else(PoisonError::into_inner);
        let mut dialogue = if let Some(dialogue) = publisher.take() {
            dialogue
        } else {
            let dialogue = Dialogue::open(&self.node, self.shared.terms().timeout)?;
            self.shared.count_connection();
            dialogue
        };
        let words = [&b"PUBLISH"[..], name.as_bytes(), &message.encode()];
        let answer = dialogue.ask("PUBLISH", &words)?;
        *publisher = self.shared.terms().keep.then_some(dialogue);
        match answer {
            // The number of subscribers, which may be none.
            Value::Integer(_) => Ok(()),
            Value::Error(error) => Err(errors::refused(&self.node, &error)),
            other => Err(errors::unexpected(&self.node, "PUBLISH", &other)),
        }
    }

    fn subscribe(&self) -> Result<Box<dyn Subscription>> {
        let timeout = self.shared.terms().timeout;
        let subscription = RedisSubscription::open(&self.node, self.topic.clone(), timeout)?;
        self.shared.count_connection();
        Ok(Box::new(subscription))
    }

    fn reports_all_writes(&self) -> bool {
        self.topic == Topic::Report
    }
}

impl fmt::Debug for RedisChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisChannel")
            .field("node", &self.node)
            .field("topic", &self.topic)
            .finish_non_exhaustive()
    }
}
