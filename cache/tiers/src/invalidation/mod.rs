//! Invalidation over a channel: a write on one host ends the copies on all other hosts.
//!
//! Whoever has changed the lowest tier publishes the key (`publisher.rs`, `outbox.rs`), never the value. One subscriber a
//! host reads the channel and drops these keys above the lowest tier (`subscriber.rs`). A channel loses what is sent while a
//! subscriber is not connected. So after every new connection, and after a message with a number too high (`numbers.rs`),
//! everything above the lowest tier ends at once.
//!
//! While no subscriber is connected, a value may stay above only for [`SHORT`], as without a channel. Each
//! process knows until when there is one (`../subscription.rs`). The subscriber of a host is chosen over the shared L1
//! (`election.rs`), and its heartbeat there tells the other processes that it is connected. Where L1 cannot choose, every process
//! subscribes for itself; a tier that it shares with other processes then keeps values for [`SHORT`] only.
//!
//! A message makes the same tokens void as a write does (`../fill_token.rs`), and then drops the key. So a value that was read
//! below before the message is not stored after it.

mod election;
mod numbers;
mod outbox;
mod publisher;
mod shared;
mod subscriber;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use larder_store::{Capabilities, Channel, Error, Id, Process, Reach, Result};

use self::election::Election;
use self::outbox::Outbox;
pub(crate) use self::publisher::publishing;
pub(crate) use self::shared::Shared;
use self::shared::lock;
use self::subscriber::Subscriber;
use crate::SCHEME;
use crate::config::{Config, no_bound};
use crate::subscription::{SHORT, SubscriptionValidity};
use crate::tier::Tier;
use crate::tokens::Tokens;

/// The stack's end of a channel. Its threads end with it: each session of the lowest tier keeps it, and so does the
/// store.
pub(crate) struct Invalidation {
    channel: Arc<dyn Channel>,
    shared: Arc<Shared>,
    outbox: Option<Arc<Outbox>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    process: Process,
}

/// The end of a channel for a stack with a bound, which holds when the channel breaks.
pub(crate) fn checked(channel: Arc<dyn Channel>, config: &Config) -> Result<Arc<Invalidation>> {
    if config.l1_ttl.0.is_none() {
        return Err(no_bound());
    }
    Ok(Invalidation::new(channel))
}

impl Invalidation {
    /// The end of a channel, before its threads are started.
    pub(crate) fn new(channel: Arc<dyn Channel>) -> Arc<Self> {
        let id = Id::random();
        let outbox = (!channel.reports_all_writes()).then(Arc::<Outbox>::default);
        Arc::new(Self {
            channel,
            outbox,
            shared: Arc::new(Shared::new(id)),
            threads: Mutex::default(),
            process: Process::current(),
        })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The longest time for which a tier above the lowest keeps a value, and the validity of the subscription
    /// if that time is shortened without one.
    ///
    /// A longer time than [`SHORT`] needs that everything in the tier can end at once, and that no process goes on to
    /// store there while the subscriber is lost.
    pub(crate) fn cap(
        &self,
        above: &[Capabilities],
        level: usize,
        cap: Option<Duration>,
    ) -> (Option<Duration>, Option<Arc<SubscriptionValidity>>) {
        let tier = &above[level];
        let is_guarded = tier.reach == Reach::Process || Election::is_possible(above);
        if tier.clear && is_guarded {
            return (cap, Some(Arc::clone(&self.shared.validity)));
        }
        (cap.map(|cap| cap.min(SHORT)), None)
    }

    /// Starts to publish and to hear. When it returns, what other processes left above is ended, or another process
    /// sees to that.
    pub(crate) fn start(&self, above: &[Arc<Tier>], tokens: &Arc<Tokens>) -> Result<()> {
        let (channel, shared) = (Arc::clone(&self.channel), Arc::clone(&self.shared));
        let subscriber = Subscriber::open(channel, shared, above, tokens)?;
        self.spawn("larder-hear", move || subscriber.run())?;
        if let Some(outbox) = &self.outbox {
            let (channel, outbox) = (Arc::clone(&self.channel), Arc::clone(outbox));
            let shared = Arc::clone(&self.shared);
            self.spawn("larder-publish", move || outbox.run(&*channel, &shared))?;
        }
        Ok(())
    }

    fn spawn(&self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<()> {
        let thread = thread::Builder::new().name(name.into()).spawn(run);
        let thread = thread.map_err(|source| Error::Io {
            engine: SCHEME,
            what: format!("the thread {name}"),
            source,
        })?;
        lock(&self.threads).push(thread);
        Ok(())
    }

    /// Publishes what is waiting, and ends the threads.
    pub(crate) fn end(&self) {
        // A forked child does not have them.
        if !self.process.is_current() {
            return;
        }
        if let Some(outbox) = &self.outbox {
            outbox.end();
        }
        self.shared.end();
        let threads = std::mem::take(&mut *lock(&self.threads));
        for thread in threads {
            // A thread that panicked has ended too.
            let _ = thread.join();
        }
    }

    /// Queues a changed key.
    fn note(&self, key: &[u8]) {
        if let Some(outbox) = &self.outbox
            && self.process.is_current()
        {
            outbox.note(key, &self.shared.counts);
        }
    }

    /// Queues that everything has changed.
    fn note_everything(&self) {
        if let Some(outbox) = &self.outbox
            && self.process.is_current()
        {
            outbox.note_everything();
        }
    }
}

impl Drop for Invalidation {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Invalidation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invalidation")
            .field("channel", &self.channel)
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}
