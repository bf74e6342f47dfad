//! Invalidation over a channel: a write on one host ends the copies on all other hosts.
//!
//! Whoever has changed the lowest tier publishes the key (`announce.rs`, `outbox.rs`), never the value. One subscriber a
//! host reads the channel and drops these keys above the lowest tier (`hearing.rs`). A channel loses what is sent while a
//! subscriber is not connected. So after every new connection, and after a message with a number too high (`numbers.rs`),
//! everything above the lowest tier ends at once.
//!
//! While no subscriber is connected, a value may stay above only for [`SHORT`], as without a channel. The cover
//! (`cover.rs`) tells each process whether there is one. The subscriber of a host is chosen over the shared L1
//! (`election.rs`), where its beat also is the other processes' cover. Where L1 cannot choose, every process
//! subscribes for itself; a tier that it shares with other processes then keeps values for [`SHORT`] only.
//!
//! A message makes the same rights void as a write does (`fence.rs`), and then drops the key. So a value that was read
//! below before the message is not stored after it.

mod announce;
mod cover;
mod election;
mod hearing;
mod numbers;
mod outbox;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use larder_store::{Capabilities, Channel, Counter, Error, Id, Process, Reach, Result, Store};

use self::announce::AnnouncingStore;
pub(crate) use self::cover::Cover;
use self::election::Election;
use self::hearing::Hearing;
use self::outbox::Outbox;
use crate::SCHEME;
use crate::config::{Config, no_bound};
use crate::tier::Tier;
use crate::tokens::Tokens;

/// The longest time for which a value stays above the lowest tier while no subscriber is connected.
pub(crate) const SHORT: Duration = Duration::from_secs(10);

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

/// The state that the threads of a stack share with its sessions.
#[derive(Debug)]
pub(crate) struct Shared {
    cover: Arc<Cover>,
    pub(crate) counts: Counts,
    /// This stack in this process.
    id: Id,
    /// The processes that share all tiers above the lowest: they have one subscriber, and this is its id.
    group: Mutex<Id>,
    is_ended: AtomicBool,
    /// Locked to wait for the end.
    waits: Mutex<()>,
    ends: Condvar,
}

/// The counters of a channel.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    published: AtomicU64,
    received: AtomicU64,
    own: AtomicU64,
    gaps: AtomicU64,
    takeovers: AtomicU64,
    dropped: AtomicU64,
}

impl Counts {
    pub(crate) fn all(&self) -> Vec<Counter> {
        let Self { published, received, own, gaps, takeovers, dropped } = self;
        [
            ("channel_published", published),
            ("channel_received", received),
            ("channel_own_skipped", own),
            ("channel_gaps", gaps),
            ("channel_takeovers", takeovers),
            ("channel_keys_dropped", dropped),
        ]
        .map(|(name, count)| Counter { name, value: count.load(Ordering::Relaxed) })
        .into()
    }
}

fn count(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}

impl Shared {
    fn group(&self) -> Id {
        *lock(&self.group)
    }

    fn set_group(&self, group: Id) {
        *lock(&self.group) = group;
    }

    fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    /// Waits for so long, or until the end.
    fn wait(&self, time: Duration) {
        let guard = lock(&self.waits);
        if !self.is_ended() {
            drop(self.ends.wait_timeout(guard, time));
        }
    }

    fn end(&self) {
        let _guard = lock(&self.waits);
        self.is_ended.store(true, Ordering::Release);
        self.ends.notify_all();
    }
}

impl Invalidation {
    /// The end of a channel, before its threads are started.
    pub(crate) fn new(channel: Arc<dyn Channel>) -> Arc<Self> {
        let id = Id::random();
        let outbox = (!channel.reports_all_writes()).then(Arc::<Outbox>::default);
        Arc::new(Self {
            channel,
            outbox,
            shared: Arc::new(Shared {
                cover: Arc::default(),
                counts: Counts::default(),
                id,
                group: Mutex::new(id),
                is_ended: AtomicBool::new(false),
                waits: Mutex::default(),
                ends: Condvar::new(),
            }),
            threads: Mutex::default(),
            process: Process::current(),
        })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The lowest tier, which publishes what is written there.
    pub(crate) fn announcing(self: &Arc<Self>, lowest: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(AnnouncingStore::new(lowest, Arc::clone(self)))
    }

    /// The longest time for which a tier above the lowest keeps a value, and its cover if that is shortened without one.
    ///
    /// A longer time than [`SHORT`] needs that everything in the tier can end at once, and that no process goes on to
    /// store there while the subscriber is lost.
    pub(crate) fn cap(
        &self,
        above: &[Capabilities],
        level: usize,
        cap: Option<Duration>,
    ) -> (Option<Duration>, Option<Arc<Cover>>) {
        let tier = &above[level];
        let is_guarded = tier.reach == Reach::Process || Election::is_possible(above);
        if tier.clear && is_guarded {
            return (cap, Some(Arc::clone(&self.shared.cover)));
        }
        (cap.map(|cap| cap.min(SHORT)), None)
    }

    /// Starts to publish and to hear. When it returns, what other processes left above is ended, or another process
    /// sees to that.
    pub(crate) fn start(&self, above: &[Arc<Tier>], tokens: &Arc<Tokens>) -> Result<()> {
        let (channel, shared) = (Arc::clone(&self.channel), Arc::clone(&self.shared));
        let hearing = Hearing::open(channel, shared, above, tokens)?;
        self.spawn("larder-hear", move || hearing.run())?;
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
