//! Reads that load what is absent: of all who miss a key at once, one loads it.
//!
//! Within a process one caller leads (`loads/flight.rs`). Over processes and hosts the lowest tier's leases choose one loader. So a
//! loaded value is stored only if nobody has changed the key since its load began. Where the lowest tier has no leases, the
//! tokens of the stack fence its fills, within this process and for the processes that share the nearest tier.
//!
//! An expired value that is kept for the time of grace is loaded anew by one caller. The others get the
//! older value meanwhile; so does the caller whose loader fails.
//!
//! The failure of a load is also that of the callers that waited for it in the same process. Otherwise each of them would load
//! in its place.

mod callbacks;
mod many;
mod missing;
mod spans;

pub use self::callbacks::{Answered, Give, LoaderOfMany};

use std::cell::Cell;
use std::mem::swap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_store::layer::Keys;
use larder_store::{Error, Leased, Leases, Meta, Put, SetOptions, SetOutcome, Token};

use crate::fill_token::{FillToken, LowerEntry};
use crate::loads::{End, Lead, LoadCount, Place};
use crate::lookup::Found;
use crate::read::{self, Seen};
use crate::rules::{in_time, is_unanswered, reported};
use crate::session::TiersSession;
use crate::stack::Stack;
use crate::tags::TagVersion;
use crate::tier::RemainingTtl;
use crate::{SCHEME, write};

/// The first pause between two looks at a key that another host loads, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_micros(500), Duration::from_millis(50)];

/// The settings of a read that loads what is absent.
#[derive(Debug, Clone, Copy)]
pub struct LoadOptions<'t> {
    /// The TTL of a loaded value; `None` is for ever. The stack's jitter shortens it at random.
    pub ttl: Option<Duration>,
    /// The flags of a loaded value.
    pub flags: u32,
    /// The longest time to wait while another caller loads the key. After that this caller loads it too, and stores
    /// nothing.
    pub wait: Duration,
    /// The time after which another host or process may load, if this one has not ended.
    pub lease: Duration,
    /// Loads a value before its TTL is over, at random, and the sooner the longer loads take: the factor of the mean time of
    /// a load. 0 is never, 1 is usual. (Vattani and others, "Optimal Probabilistic Cache Stampede Prevention", 2015.)
    pub early: f64,
    /// The time for which this stack remembers that there is no value; zero remembers nothing.
    pub absent: Duration,
    /// The tags of a loaded value, as of [`TiersSession::set_tagged`]. Their counters are read before the loader runs. So a
    /// value whose load began before the end of a tag is gone with it. The end of a tag also ends what is known as absent.
    pub tags: &'t [&'t [u8]],
}

impl Default for LoadOptions<'_> {
    fn default() -> Self {
        Self {
            ttl: None,
            flags: 0,
            wait: Duration::from_secs(5),
            lease: Duration::from_secs(10),
            early: 0.0,
            absent: Duration::ZERO,
            tags: &[],
        }
    }
}

/// The result of a loader that has not failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loaded {
    /// The value is in the buffer.
    Value,
    /// The value is in the buffer, with a TTL of its own.
    ValueFor(Option<Duration>),
    /// The value is in the buffer, and must not be stored.
    Uncached,
    /// There is no value.
    Absent,
}

/// The answer to a read that loads what is absent, beside the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// From where the value is.
    pub origin: Origin,
    /// The value is out of date: another caller loads it now, or loading it has failed.
    pub stale: bool,
    /// The value's flags.
    pub flags: u32,
}

impl Answer {
    /// The answer of a tier, as the stack reports it.
    fn of(found: Found) -> Self {
        let Meta { stale, flags, .. } = found.meta;
        Self { origin: Origin::Tier(found.tier), stale, flags }
    }
}

/// The origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The tier of this number: 1 is the nearest.
    Tier(usize),
    /// This caller's loader.
    Loader,
}

/// One read that may load.
struct Request<'a> {
    key: &'a [u8],
    options: &'a LoadOptions<'a>,
    /// An entry with no more than this left is loaded anew.
    early: Duration,
    deadline: Instant,
    /// Set once this caller waits for the load of another.
    has_waited: &'a Cell<bool>,
}

/// The permission under which a value is loaded.
#[derive(Debug)]
enum Permission {
    /// A lease of the lowest tier.
    Lease(Token),
    /// The lead within this process: the lowest tier has no leases.
    Lead,
    /// The lowest tier fails: only the tiers above can be filled.
    AboveOnly,
    /// Nothing is stored.
    Nothing,
}

impl Permission {
    /// The lease, if it is one.
    fn lease(&self) -> Option<Token> {
        match self {
            Self::Lease(token) => Some(*token),
            _ => None,
        }
    }
}

impl TiersSession {
    /// Copies the value under `key` into `value`, and has `loader` make it where it is absent or over. `None` where the loader
    /// says that there is none.
    ///
    /// Of all callers in all processes and hosts that share the lowest tier, one loads. The others wait for it, at most for
    /// [`LoadOptions::wait`], or get an older value. The loader runs in this thread, and gets an empty buffer.
    ///
    /// # Errors
    ///
    /// The loader's error, where there is no older value; [`Error::Unavailable`] where this caller waited for the load of another,
    /// which has failed. Another error of the stack only where the request cannot be carried out, as with a key that is too
    /// long, or with a TTL or flags that not every tier keeps. Where a tier fails, the value is loaded.
    pub fn get_or_load<E: From<Error>>(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        options: &LoadOptions<'_>,
        loader: impl FnOnce(&mut Vec<u8>) -> Result<Loaded, E>,
    ) -> Result<Option<Answer>, E> {
        let span = self.begin_span(Keys::One(key));
        let has_waited = Cell::new(false);
        let answer = self.look_or_load(key, options, &has_waited, value, loader);
        if let Some(span) = span {
            spans::end(span, &answer, has_waited.get(), value);
        }
        answer
    }

    /// Looks in the tiers, and has the value loaded by this caller or by another.
    fn look_or_load<E: From<Error>>(
        &mut self,
        key: &[u8],
        options: &LoadOptions<'_>,
        has_waited: &Cell<bool>,
        value: &mut Vec<u8>,
        loader: impl FnOnce(&mut Vec<u8>) -> Result<Loaded, E>,
    ) -> Result<Option<Answer>, E> {
        self.check(options)?;
        let begun = Instant::now();
        let early = self.stack.rules.grace.saturating_add(self.draw_early(options));
        let ask = Request { key, options, early, deadline: in_time(options.wait), has_waited };
        let mut has_followed = false;
        loop {
            let loads = Arc::clone(&self.loads);
            let n_ended = loads.flights.n_ended();
            let mut seen = self.look_before_loading(&ask, value)?;
            if let Some(found) = seen.found {
                return Ok(Some(self.of_tier(found.tier, found.meta, false)));
            }
            if self.is_known_absent(key) {
                return Ok(None);
            }
            // A caller with an older value does not wait.
            let has_older = self.is_usable(&seen);
            let until = if has_older { begun } else { ask.deadline };
            let place = loads.flights.board(key, until);
            if matches!(place, Place::Followed(_)) {
                loads.count(LoadCount::Waits);
                has_waited.set(true);
            }
            let lead = match place {
                Place::Leads(lead) => {
                    // Another load of the key may have ended since this caller looked. A lease would show that.
                    if !self.stack.capabilities.leases && loads.flights.n_ended() != n_ended {
                        seen = self.look_before_loading(&ask, value)?;
                        if let Some(found) = seen.found {
                            lead.end(End::Stored);
                            return Ok(Some(self.of_tier(found.tier, found.meta, false)));
                        }
                    }
                    Some(lead)
                }
                Place::Followed(End::Stored) if !has_followed && Instant::now() < ask.deadline => {
                    has_followed = true;
                    continue;
                }
                Place::Followed(End::Failed) | Place::Refreshing | Place::Late if has_older => {
                    loads.count(LoadCount::StaleHits);
                    return Ok(self.take_fallback(&seen, value));
                }
                Place::Followed(End::Failed) => {
                    let what = "the load of another caller has failed".to_owned();
                    return Err(Error::Unavailable { engine: SCHEME, what, source: None }.into());
                }
                // A value that was stored and is not found was too large, or was dropped: this caller goes on alone.
                Place::Followed(_) | Place::Refreshing | Place::Late => None,
            };
            return self.ask_lowest(&ask, value, &seen, lead, loader);
        }
    }

    /// Looks in the tiers that are asked before a lease is: all but the lowest, or all where that has no leases.
    fn look_before_loading(
        &mut self,
        ask: &Request<'_>,
        value: &mut Vec<u8>,
    ) -> Result<Seen, Error> {
        let all = self.stack.tiers.len();
        let levels = if self.stack.capabilities.leases { all - 1 } else { all };
        let mut seen = read::look(&mut self.stack, levels, ask.key, value, ask.early)?;
        if let Some(found) = seen.found.filter(|found| seen.is_expired || found.meta.stale) {
            // The lowest tier has an older value: it is kept as the fallback.
            swap(value, &mut self.stack.fallback);
            value.clear();
            seen = Seen { found: None, fallback: Some(found), ..seen };
        }
        Ok(seen)
    }

    /// Whether the fallback may be an answer: it is the lowest tier's, or that tier fails.
    fn is_usable(&self, seen: &Seen) -> bool {
        let lowest = self.stack.tiers.len();
        seen.fallback.is_some_and(|fallback| seen.failed.is_some() || fallback.tier == lowest)
    }

    /// Asks the lowest tier for the value or for a lease, until there is either.
    fn ask_lowest<E: From<Error>>(
        &mut self,
        ask: &Request<'_>,
        value: &mut Vec<u8>,
        seen: &Seen,
        lead: Option<Lead<'_>>,
        loader: impl FnOnce(&mut Vec<u8>) -> Result<Loaded, E>,
    ) -> Result<Option<Answer>, E> {
        let lowest = self.stack.tiers.len();
        // Where a counter could not be read, nor can the lease.
        if !self.stack.capabilities.leases || seen.failed.is_some() {
            let under = match (&seen.failed, &lead) {
                (Some(_), _) => Permission::AboveOnly,
                (None, Some(_)) => Permission::Lead,
                (None, None) => Permission::Nothing,
            };
            let fallback = self.take_fallback(seen, value);
            return self.load(ask, value, &under, fallback, lead, loader);
        }
        let ([mut pause, longest], mut fallback) = (PAUSES, seen.fallback);
        loop {
            match self.lease_lowest(ask.key, fallback, value, ask.options.lease, ask.early) {
                Ok(Leased::Hit(meta)) => {
                    if let Some(lead) = lead {
                        lead.end(End::Stored);
                    }
                    return Ok(Some(self.of_tier(lowest, meta, false)));
                }
                Ok(Leased::Load { token, stale }) => {
                    if let Some(lead) = lead.as_ref().filter(|_| stale.is_some()) {
                        lead.refreshes();
                    }
                    let answer = stale.map(|meta| self.of_tier(lowest, meta, true));
                    return self.load(ask, value, &Permission::Lease(token), answer, lead, loader);
                }
                Ok(Leased::Wait { stale: Some(meta) }) => {
                    if let Some(lead) = lead {
                        lead.end(End::Stored);
                    }
                    self.loads.count(LoadCount::StaleHits);
                    return Ok(Some(self.of_tier(lowest, meta, true)));
                }
                Ok(Leased::Wait { stale: None }) => {
                    // The key is gone below, so its older value above is no answer any more.
                    fallback = None;
                    self.loads.count(LoadCount::Waits);
                    ask.has_waited.set(true);
                    let left = ask.deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return self.load(ask, value, &Permission::Nothing, None, lead, loader);
                    }
                    sleep(pause.min(left));
                    pause = longest.min(2 * pause);
                }
                Err(error) if is_unanswered(&error) => {
                    let failed = Seen { failed: Some(error), fallback, ..Seen::default() };
                    let fallback = self.take_fallback(&failed, value);
                    return self.load(ask, value, &Permission::AboveOnly, fallback, lead, loader);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Loads the value and stores it. The buffer has an older value where `older` is `Some`.
    fn load<E: From<Error>>(
        &mut self,
        ask: &Request<'_>,
        value: &mut Vec<u8>,
        under: &Permission,
        older: Option<Answer>,
        lead: Option<Lead<'_>>,
        loader: impl FnOnce(&mut Vec<u8>) -> Result<Loaded, E>,
    ) -> Result<Option<Answer>, E> {
        let (mut loaded, begun) = (Vec::new(), Instant::now());
        let fill_token = self.stack.fill_token(ask.key);
        let tag_versions = self.tag_versions_under(ask.options.tags, [under]);
        self.loads.count(LoadCount::Loads);
        let span = self.begin_loader_span(Keys::One(ask.key));
        let made = catch_unwind(AssertUnwindSafe(|| loader(&mut loaded)));
        self.loads.took(begun.elapsed());
        if let Some(span) = span {
            spans::end_loader(span, &made, &loaded);
        }
        let made = made.unwrap_or_else(|panic| {
            self.give_back(ask.key, under);
            resume_unwind(panic)
        });
        let has_older = older.is_some();
        let mut keep = |ttl| {
            let (value, options) = (&*loaded, self.load_options(ask.options, ttl));
            let put = Put { key: ask.key, value, options };
            self.keep(&put, &tag_versions, under, fill_token, has_older)
        };
        let end = match &made {
            Ok(Loaded::Value) => keep(ask.options.ttl),
            Ok(Loaded::ValueFor(ttl)) => keep(*ttl),
            Ok(Loaded::Absent) if !ask.options.absent.is_zero() => {
                self.note_absent(ask.key, ask.options, fill_token, &tag_versions)
            }
            Ok(_) => End::NotStored,
            Err(_) => End::Failed,
        };
        if !matches!(made, Ok(Loaded::Value | Loaded::ValueFor(_))) {
            self.give_back(ask.key, under);
        }
        if let Some(lead) = lead {
            lead.end(end);
        }
        match made {
            Ok(Loaded::Absent) => {
                value.clear();
                Ok(None)
            }
            Ok(_) => {
                swap(value, &mut loaded);
                let flags = ask.options.flags;
                Ok(Some(Answer { origin: Origin::Loader, stale: false, flags }))
            }
            Err(error) => {
                self.loads.count(LoadCount::LoadErrors);
                let Some(older) = older else { return Err(error) };
                self.loads.count(LoadCount::StaleHits);
                Ok(Some(older))
            }
        }
    }

    /// Refuses options with which no loaded value could be stored.
    fn check(&self, options: &LoadOptions<'_>) -> Result<(), Error> {
        self.check_tags(options.tags)?;
        let LoadOptions { ttl, flags, .. } = *options;
        let kept = SetOptions { ttl, flags, ..SetOptions::default() };
        write::check(&self.stack.capabilities, &kept)
    }

    /// Gives back a lease under which nothing is stored. If that fails, the lease ends with its time.
    fn give_back(&mut self, key: &[u8], under: &Permission) {
        if let Some(token) = under.lease() {
            let _ = self.release(key, &token);
        }
    }

    /// Stores a loaded value, unless the key has been changed since its load began. `replaces` means that the lowest tier has an
    /// older value.
    fn keep(
        &mut self,
        Put { key, value, options }: &Put<'_>,
        tag_versions: &Result<Vec<TagVersion>, Error>,
        under: &Permission,
        fill_token: FillToken,
        replaces: bool,
    ) -> End {
        let stored = match (under, tag_versions) {
            (Permission::Nothing, _) => return End::NotStored,
            // The counter of a tag is not known.
            (_, Err(_)) => Ok(SetOutcome::NotStored),
            (Permission::Lease(token), Ok(tag_versions)) => {
                self.fill_with_tags(key, value, options, token, tag_versions)
            }
            (Permission::Lead, Ok(tag_versions)) => {
                let options = self.stack.rules.kept_options(options);
                self.with_stored(value, tag_versions, |stack, stored| {
                    write::store_under(stack, key, stored, options, fill_token, replaces)
                })
            }
            (Permission::AboveOnly, Ok(tag_versions)) => {
                let kept = self.stack.rules.kept(options.ttl);
                let (flags, remaining) = (options.flags, RemainingTtl::from_now(kept));
                let fill = |stack: &mut Stack, stored: &[u8]| {
                    let (_, above, tokens) = stack.split();
                    let entry = LowerEntry { key, value: stored, flags, remaining };
                    read::fill(above, tokens, fill_token, entry);
                    Ok(SetOutcome::Stored(None))
                };
                self.with_stored(value, tag_versions, fill)
            }
        };
        match stored {
            Ok(outcome) if outcome.is_stored() => return End::Stored,
            Ok(_) if tag_versions.is_ok() => {}
            _ => self.give_back(key, under),
        }
        self.loads.count(LoadCount::RefusedFills);
        End::NotStored
    }

    /// The options of a loaded value: its TTL is shortened at random.
    fn load_options(&mut self, options: &LoadOptions<'_>, ttl: Option<Duration>) -> SetOptions {
        let share = self.stack.rules.jitter;
        let ttl = ttl.map(|ttl| self.jitter.shorten(ttl, share));
        SetOptions { ttl, flags: options.flags, ..SetOptions::default() }
    }

    /// The older value, which is copied to the buffer, where it may be an answer.
    fn take_fallback(&mut self, seen: &Seen, value: &mut Vec<u8>) -> Option<Answer> {
        let fallback = seen.fallback.filter(|_| self.is_usable(seen))?;
        swap(value, &mut self.stack.fallback);
        Some(self.of_tier(fallback.tier, fallback.meta, true))
    }

    fn of_tier(&self, tier: usize, meta: Meta, is_expired: bool) -> Answer {
        self.shown()(tier, meta, is_expired)
    }

    /// The answer of a tier, by its number, its metadata, and whether the value has expired.
    fn shown(&self) -> impl Fn(usize, Meta, bool) -> Answer + use<> {
        let (rules, capabilities) = (self.stack.rules, self.stack.capabilities);
        move |tier, meta, is_expired| {
            Answer::of(Found { meta: reported(meta, is_expired, &rules, &capabilities), tier })
        }
    }

    /// Whether the last load found no value, and nothing has changed since.
    fn is_known_absent(&mut self, key: &[u8]) -> bool {
        if self.loads.absent.is_empty() {
            return false;
        }
        let fill_token = self.stack.fill_token(key);
        let tag_versions = self.loads.absent.tag_versions(key, fill_token);
        let is_absent = tag_versions
            .is_some_and(|tag_versions| read::are_current(&mut self.stack, &tag_versions));
        if is_absent {
            self.loads.count(LoadCount::AbsentHits);
        }
        is_absent
    }

    /// Remembers that there is no value, unless a counter of its tags is not known.
    fn note_absent(
        &mut self,
        key: &[u8],
        options: &LoadOptions<'_>,
        fill_token: FillToken,
        tag_versions: &Result<Vec<TagVersion>, Error>,
    ) -> End {
        let Ok(tag_versions) = tag_versions else { return End::NotStored };
        self.loads.absent.note(key, options.absent, fill_token, tag_versions);
        End::Stored
    }

    /// The tag versions of loaded values, each loaded under one of these. Without them nothing is stored. Where the lowest tier
    /// fails, its counters are not asked for.
    fn tag_versions_under<'u>(
        &mut self,
        tags: &[&[u8]],
        under: impl IntoIterator<Item = &'u Permission>,
    ) -> Result<Vec<TagVersion>, Error> {
        let asks = |under: &Permission| matches!(under, Permission::Lease(_) | Permission::Lead);
        if tags.is_empty() || under.into_iter().any(asks) {
            return self.tag_versions(tags);
        }
        Err(read::unknown(None))
    }

    /// The time before the end of a TTL from which on this read loads.
    fn draw_early(&mut self, options: &LoadOptions<'_>) -> Duration {
        if options.early <= 0.0 {
            return Duration::ZERO;
        }
        // The draw is not 0, whose logarithm is infinite.
        let spread = -(1.0 - self.jitter.draw()).ln();
        let early = self.loads.mean().as_secs_f64() * options.early * spread;
        Duration::try_from_secs_f64(early).unwrap_or_default()
    }
}
