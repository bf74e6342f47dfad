//! The choice of one subscriber among the processes that share an L1, by an entry of L1 itself.
//!
//! The entry has a short TTL, and its holder renews it: the heartbeat. A process that finds no entry adds one, and `add` lets one
//! process win. The holder renews by compare-and-swap. So a process that was stopped for too long notices that another one
//! has taken over. A process that is killed renews nothing, and another one takes over when the entry has expired.
//!
//! The heartbeat says whether its holder is connected to the channel. That is valid for all processes until the entry ends.

use std::time::{Duration, Instant};

use larder_store::{
    Capabilities, Id, Meta, Reach, Remaining, Result, Session, SetMode, SetOptions, SetOutcome,
};

/// The key of the entry, which no entry of the stack should have.
pub(super) const KEY: &[u8] = b"~larder-subscriber";

/// The TTL of the heartbeat of a connected subscriber: another process takes over at most this long after its death.
pub(super) const HOLD: Duration = Duration::from_millis(1500);

/// The TTL of the heartbeat of a subscriber that is not connected. It is longer, because a connection attempt may take long, and
/// every other process would fail there too.
const HOLD_UNCONNECTED: Duration = Duration::from_secs(10);

/// The validity ends earlier than the heartbeat by this, because the clock of L1 counts in steps.
const MARGIN: Duration = Duration::from_millis(100);

const MAGIC: [u8; 3] = *b"LB\x01";

/// A candidate for the subscriber of its host.
#[derive(Debug)]
pub(super) struct Election {
    id: Id,
    /// The version of this candidate's own heartbeat.
    held: Option<u64>,
}

/// The subscriber of this host, as its heartbeat names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// This process. With the end of its subscription's validity, if it is connected.
    Own(Option<Instant>),
    /// Another process. With the end of its subscription's validity, if it is connected.
    Other(Id, Option<Instant>),
    /// No process, or it is not known.
    Unknown,
}

impl Election {
    /// Whether one process can be the subscriber of all that share these tiers.
    ///
    /// There is only L1 above the lowest tier, and its own tokens void the fills of every process.
    pub(super) fn is_possible(above: &[Capabilities]) -> bool {
        let [l1] = above else { return false };
        let can_choose = l1.add && l1.version && l1.ttl && l1.ttl_left;
        can_choose && l1.tokens && l1.clear && l1.reach == Reach::Host
    }

    pub(super) fn new(id: Id) -> Self {
        Self { id, held: None }
    }

    /// Renews the own heartbeat, or looks for the heartbeat of another process, or tries to become the subscriber.
    pub(super) fn heartbeat(&mut self, l1: &mut dyn Session, is_connected: bool) -> Holder {
        self.try_heartbeat(l1, is_connected).unwrap_or(Holder::Unknown)
    }

    fn try_heartbeat(&mut self, l1: &mut dyn Session, is_connected: bool) -> Result<Holder> {
        let now = Instant::now();
        if let Some(version) = self.held.take()
            && self.store(l1, SetMode::Cas(version), is_connected)?
        {
            return Ok(self.own(is_connected, now));
        }
        let mut heartbeat = Vec::new();
        if let Some(meta) = l1.get(KEY, &mut heartbeat)? {
            match decode(&heartbeat) {
                Some((id, is_connected)) if id != self.id => {
                    let until = is_connected.then(|| now + left(meta));
                    return Ok(Holder::Other(id, until));
                }
                // An own heartbeat whose answer was lost, or something else.
                _ => drop(l1.delete(KEY)?),
            }
        }
        if self.store(l1, SetMode::Add, is_connected)? {
            return Ok(self.own(is_connected, now));
        }
        Ok(Holder::Unknown)
    }

    fn own(&self, is_connected: bool, now: Instant) -> Holder {
        debug_assert!(self.held.is_some());
        Holder::Own(is_connected.then(|| now + HOLD.saturating_sub(MARGIN)))
    }

    /// Stores the heartbeat; `true` if this candidate is the subscriber now.
    fn store(&mut self, l1: &mut dyn Session, mode: SetMode, is_connected: bool) -> Result<bool> {
        let ttl = Some(if is_connected { HOLD } else { HOLD_UNCONNECTED });
        let options = SetOptions { mode, ttl, ..SetOptions::default() };
        let SetOutcome::Stored(version) = l1.set(KEY, &encode(self.id, is_connected), &options)?
        else {
            return Ok(false);
        };
        self.held = version;
        Ok(version.is_some())
    }

    /// Ends the own heartbeat, so that another process takes over at once.
    pub(super) fn resign(&mut self, l1: &mut dyn Session) {
        if let Some(version) = self.held.take() {
            // Otherwise the heartbeat ends by itself.
            let _ = l1.delete_if(KEY, version);
        }
    }
}

/// The time for which a heartbeat of another process makes the subscription valid.
fn left(meta: Meta) -> Duration {
    match meta.ttl {
        Remaining::For(left) => left.saturating_sub(MARGIN),
        Remaining::Forever | Remaining::Unknown => Duration::ZERO,
    }
}

fn encode(id: Id, is_connected: bool) -> Vec<u8> {
    [&MAGIC[..], &[u8::from(is_connected)], &id.0].concat()
}

fn decode(heartbeat: &[u8]) -> Option<(Id, bool)> {
    let (is_connected, id) = heartbeat.strip_prefix(&MAGIC)?.split_first()?;
    let id = Id(id.try_into().ok()?);
    match is_connected {
        0 => Some((id, false)),
        1 => Some((id, true)),
        _ => None,
    }
}
