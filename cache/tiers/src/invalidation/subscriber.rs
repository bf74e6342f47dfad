//! The thread that hears of changes, and ends what has changed above the lowest tier.

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_store::{Change, Channel, Event, Message, Result, Subscription};

use super::election::{Election, HOLD, Holder};
use super::numbers::Numbers;
use super::shared::{Shared, count};
use crate::fill_token::FillToken;
use crate::tier::{Tier, TierSession};
use crate::tokens::Tokens;

/// The time between two heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(250);

/// The least time between two attempts to connect, and between two attempts to empty a tier that has failed to.
const RETRY: Duration = Duration::from_millis(500);

/// The longest wait for an event, after which the thread looks whether it is to end.
const PATIENCE: Duration = Duration::from_millis(100);

/// The keys that are dropped between two looks at the clock.
const AT_ONCE: usize = 1024;

/// The state of the thread.
pub(super) struct Subscriber {
    channel: Arc<dyn Channel>,
    shared: Arc<Shared>,
    above: Vec<TierSession>,
    tokens: Arc<Tokens>,
    /// `None` where every process subscribes for itself.
    election: Option<Election>,
    /// This process is to subscribe.
    is_chosen: bool,
    subscription: Option<Box<dyn Subscription>>,
    numbers: Numbers,
    heartbeat_at: Instant,
    connect_at: Instant,
    /// When everything is to end once more; see [`Subscriber::end_validity`].
    again_at: Option<Instant>,
    /// When a quarantined tier is emptied again.
    empty_at: Instant,
}

impl Subscriber {
    /// Takes part in the choice of the subscriber, and ends everything above if this process is chosen.
    pub(super) fn open(
        channel: Arc<dyn Channel>,
        shared: Arc<Shared>,
        above: &[Arc<Tier>],
        tokens: &Arc<Tokens>,
    ) -> Result<Self> {
        let capabilities: Vec<_> = above.iter().map(|tier| tier.capabilities).collect();
        let election = Election::is_possible(&capabilities).then(|| Election::new(shared.id));
        let now = Instant::now();
        let mut this = Self {
            channel,
            shared,
            above: above.iter().map(TierSession::open).collect::<Result<_>>()?,
            tokens: Arc::clone(tokens),
            is_chosen: false,
            election,
            subscription: None,
            numbers: Numbers::default(),
            heartbeat_at: now,
            connect_at: now,
            again_at: None,
            empty_at: now,
        };
        if this.election.is_some() {
            this.heartbeat();
        } else {
            this.is_chosen = true;
            this.end_validity();
        }
        Ok(this)
    }

    pub(super) fn run(mut self) {
        while !self.shared.is_ended() {
            self.step();
        }
        if let (Some(election), [l1, ..]) = (&mut self.election, &mut self.above[..]) {
            election.resign(&mut *l1.session);
        }
    }

    fn step(&mut self) {
        let now = Instant::now();
        if now >= self.heartbeat_at {
            self.heartbeat();
        }
        let is_empty_due =
            |tier: &TierSession| tier.tier.capabilities.clear && tier.tier.is_quarantined();
        let is_any_due = now >= self.empty_at && self.above.iter().any(is_empty_due);
        if self.again_at.is_some_and(|at| now >= at) || is_any_due {
            self.again_at = self.again_at.filter(|at| now < *at);
            self.empty_at = now + RETRY;
            self.end_everything();
        }
        let to_heartbeat = self.heartbeat_at.saturating_duration_since(now).min(PATIENCE);
        if !self.is_chosen {
            self.shared.wait(to_heartbeat);
            return;
        }
        match &mut self.subscription {
            None if now >= self.connect_at => self.connect(),
            None => self.shared.wait(to_heartbeat),
            Some(subscription) => match subscription.next(to_heartbeat) {
                Ok(event) => self.hear(event),
                Err(_) => self.lose(),
            },
        }
    }

    /// Renews this process's heartbeat, or reads that of another process. Extends the validity of the subscription.
    fn heartbeat(&mut self) {
        let now = Instant::now();
        self.heartbeat_at = now + HEARTBEAT_INTERVAL;
        let is_connected = self.subscription.is_some();
        let (Some(election), [l1, ..]) = (&mut self.election, &mut self.above[..]) else {
            if is_connected {
                self.shared.validity.extend(now + HOLD);
            }
            return;
        };
        match election.heartbeat(&mut *l1.session, is_connected) {
            Holder::Own(until) => {
                self.shared.set_group(self.shared.id);
                if let Some(until) = until {
                    self.shared.validity.extend(until);
                }
                if !self.is_chosen {
                    self.is_chosen = true;
                    self.connect_at = now;
                    self.end_validity();
                    count(&self.shared.counts.takeovers, 1);
                }
            }
            Holder::Other(id, until) => {
                self.step_down();
                self.shared.set_group(id);
                if let Some(until) = until {
                    self.shared.validity.extend(until);
                }
            }
            // The validity ends by itself. The next heartbeat names the subscriber.
            Holder::Unknown => {}
        }
    }

    fn step_down(&mut self) {
        self.is_chosen = false;
        self.subscription = None;
        self.again_at = None;
    }

    /// Subscribes. Changes from before are lost, so everything ends then. Only after that the subscription is valid.
    fn connect(&mut self) {
        let subscribed = self.channel.subscribe();
        self.connect_at = Instant::now() + RETRY;
        if let Ok(subscription) = subscribed
            && self.end_everything()
        {
            self.subscription = Some(subscription);
            self.numbers = Numbers::default();
            self.again_at = None;
            self.heartbeat();
        }
    }

    /// The connection is lost. Another is made at once, unless this one has not lasted.
    fn lose(&mut self) {
        self.subscription = None;
        self.end_validity();
        count(&self.shared.counts.gaps, 1);
        self.heartbeat();
    }

    /// Ends the validity of the subscription, and everything that was stored under it.
    ///
    /// Other processes may have seen a heartbeat of the connected subscriber. They may go on to store values for
    /// long until that heartbeat has expired. So everything ends once more afterwards, unless a new connection ends it earlier.
    fn end_validity(&mut self) {
        self.shared.validity.end();
        self.end_everything();
        self.again_at = self.election.as_ref().map(|_| Instant::now() + HOLD);
    }

    fn hear(&mut self, event: Event) {
        let change = match event {
            Event::Silence => return,
            Event::Changed(change) => change,
            Event::Message(Message { origin, change }) => {
                if origin.group == self.shared.id {
                    // The sender has dropped its keys in these same tiers.
                    count(&self.shared.counts.own, 1);
                    return;
                }
                if self.numbers.is_gap(&origin) {
                    count(&self.shared.counts.gaps, 1);
                    Change::Everything
                } else {
                    change
                }
            }
        };
        count(&self.shared.counts.received, 1);
        match change {
            Change::Everything => {
                if !self.end_everything() {
                    self.lose();
                }
            }
            Change::Keys(keys) => {
                for keys in keys.chunks(AT_ONCE) {
                    for key in keys {
                        self.end_key(key);
                    }
                    if Instant::now() >= self.heartbeat_at {
                        self.heartbeat();
                    }
                }
            }
        }
    }

    /// Drops a key above the lowest tier, and makes void what readers and writers of it have begun. A tier that fails to
    /// do so is quarantined, and everything in it ends in the next step.
    fn end_key(&mut self, key: &[u8]) {
        let fill_token = FillToken::of_writer(&mut self.above, &self.tokens, key);
        fill_token.drop_everywhere(&mut self.above, &self.tokens, key);
    }

    /// Ends everything above the lowest tier; `false` where a tier failed. A tier without a clear is not asked until all
    /// that it holds has expired.
    fn end_everything(&mut self) -> bool {
        let mut is_done = true;
        for tier in self.above.iter_mut().rev() {
            // Between one tier and the next, because a reader may carry a value upwards.
            self.tokens.invalidate_all();
            if tier.tier.capabilities.clear {
                is_done &= tier.clear().is_ok();
            } else {
                tier.tier.quarantine();
            }
        }
        // The heartbeat has gone with everything else.
        self.heartbeat_at = Instant::now();
        is_done
    }
}
