//! Repeated calls: a call that failed by a fault of the store is made again, if it may be.
//!
//! The pauses grow exponentially with full jitter: a pause is any time from 0 to the backoff, which doubles (Brooker,
//! "Exponential Backoff and Jitter", 2015). So clients that failed together do not come back together.
//!
//! A lock that is taken is no reason to repeat a call: the engine has waited for it as long as the session's patience allows.
//!
//! A budget bounds all repetitions of a store. Each call earns a share of a repetition, 10 % by default, and at most
//! [`BURST`] are saved. So a dead server gets 10 % more calls, however many repetitions each call may have.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use larder_store::layer::{Around, Call, Layer, Layered, Open, Outcome, PlainValues, Wrap};
use larder_store::{
    Capabilities, Counter, Result, Session, Span, Store, StoreInfo, StoreLayer, Waits,
};
use schemars::{JsonSchema, schema_for};

use super::parts::{number, split};
use super::{SystemTimer, Timer};

const EXAMPLE: &str = "retry=2 or retry=2,backoff:10ms,within:1s,budget:10";

/// The most repetitions that a budget saves.
pub const BURST: u64 = 10;

/// What one repetition takes of the budget. A call earns the percents of the settings.
const PRICE: u64 = 100;

/// The layer as the catalog lists it.
pub const LAYER: StoreLayer =
    StoreLayer { option: "retry", schema: || schema_for!(Settings), read };

/// Repeats calls that failed because the store did not answer, at most this many times (`retry=2`). Only calls that do no harm
/// when they are made twice are repeated: reads, sets without a condition, deletes, touches; a delete may then miss what it
/// has removed itself. The pause before each is drawn from 0 to `backoff:10ms`, which doubles, and no repetition begins more
/// than `within:1s` after the call. All sessions together repeat at most `budget:10` percent of their calls, and ten more in
/// a burst, so that a dead server meets no storm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
pub struct Settings {
    /// The most repetitions of a call, from 1 to 100.
    pub times: u32,
    /// The longest pause before the first repetition; it doubles with each.
    pub backoff: Duration,
    /// The time after the beginning of a call in which its last repetition begins.
    pub within: Duration,
    /// Repetitions in a hundred calls, from 1 to 100.
    pub budget: u32,
}

impl Default for Settings {
    fn default() -> Self {
        let (backoff, within) = (Duration::from_millis(10), Duration::from_secs(1));
        Self { times: 2, backoff, within, budget: 10 }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { times, backoff, within, budget } = *self;
        write!(f, "{times},backoff:{},within:{},budget:{budget}", Span(backoff), Span(within))
    }
}

impl FromStr for Settings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (times, pairs) = split(text, &["backoff", "within", "budget"], EXAMPLE)?;
        let wrong = |problem| format!("{problem}; write {EXAMPLE}");
        let times = number("repetitions", times, 1, 100).map_err(wrong)?;
        let mut settings = Self { times, ..Self::default() };
        let time = |name: &str, value: &str| {
            let Span(time) = value.parse()?;
            if !(Duration::from_micros(1)..=Duration::from_hours(1)).contains(&time) {
                return Err(format!("{name}:{value} is not from 1us to 1h; write {EXAMPLE}"));
            }
            Ok::<_, String>(time)
        };
        for (name, value) in pairs {
            match name {
                "backoff" => settings.backoff = time(name, value)?,
                "within" => settings.within = time(name, value)?,
                _ => settings.budget = number("percent", value, 1, 100).map_err(wrong)?,
            }
        }
        Ok(settings)
    }
}

fn read(text: &str) -> Result<Option<Wrap>, String> {
    if text == "off" {
        return Ok(None);
    }
    let settings: Settings = text.parse()?;
    Ok(Some(Wrap::new(move |store| layer(store, &settings))))
}

/// The store with repeated calls.
pub fn layer(store: Arc<dyn Store>, settings: &Settings) -> Arc<dyn Store> {
    layer_with(store, settings, Arc::new(SystemTimer))
}

/// The same with another time.
pub fn layer_with(
    store: Arc<dyn Store>,
    settings: &Settings,
    timer: Arc<dyn Timer>,
) -> Arc<dyn Store> {
    let engine = store.info().scheme;
    let retry = Retry {
        settings: *settings,
        timer,
        engine,
        budget: Budget(AtomicU64::new(BURST * PRICE)),
        repeated: AtomicU64::new(0),
        refused: AtomicU64::new(0),
    };
    Arc::new(Layered(RetryLayer { store, retry: Arc::new(retry) }))
}

/// What all sessions of a store share. There is no lock in it, so a forked child may go on with it.
#[derive(Debug)]
struct Retry {
    settings: Settings,
    timer: Arc<dyn Timer>,
    engine: &'static str,
    budget: Budget,
    repeated: AtomicU64,
    /// Repetitions for which the budget had nothing left.
    refused: AtomicU64,
}

impl Retry {
    /// The pause before repetition `n`, counted from 0; `None` where the call is not repeated.
    fn pause(&self, n: u32, since: Instant, calls: u64, random: u64) -> Option<Duration> {
        let Settings { times, backoff, within, budget } = self.settings;
        if n >= times {
            return None;
        }
        let longest = backoff.saturating_mul(1 << n.min(20)).min(within);
        let pause = jittered(longest, random);
        let elapsed = self.timer.now().saturating_duration_since(since);
        if elapsed.saturating_add(pause) > within {
            return None;
        }
        if !self.budget.take(calls * u64::from(budget)) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        self.repeated.fetch_add(1, Ordering::Relaxed);
        Some(pause)
    }
}

/// A time from 0 to `longest`.
fn jittered(longest: Duration, random: u64) -> Duration {
    let nanos = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
    let drawn = (u128::from(nanos) * u128::from(random)) >> 64;
    Duration::from_nanos(u64::try_from(drawn).unwrap_or(nanos))
}

/// Repetitions that are left, each [`PRICE`]: a token bucket.
#[derive(Debug)]
struct Budget(AtomicU64);

impl Budget {
    /// Adds what calls have earned, and takes one repetition; `false` where that is not left.
    fn take(&self, earned: u64) -> bool {
        let left = |left: u64| left.saturating_add(earned).min(BURST * PRICE);
        let after = |before: u64| {
            let left = left(before);
            Some(left.checked_sub(PRICE).unwrap_or(left))
        };
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let before = self.0.fetch_update(success, failure, after);
        before.is_ok_and(|before| left(before) >= PRICE)
    }
}

#[derive(Debug)]
struct RetryLayer {
    store: Arc<dyn Store>,
    retry: Arc<Retry>,
}

impl Layer for RetryLayer {
    type Around = RetrySession;
    type Codec = PlainValues;

    fn store(&self) -> Result<&dyn Store> {
        Ok(&*self.store)
    }

    fn engine(&self) -> &'static str {
        self.retry.engine
    }

    /// A call that is repeated pauses, but seldom.
    fn capabilities(&self) -> Capabilities {
        let inner = self.store.capabilities();
        let reads_wait = inner.reads_wait.max(Waits::Seldom);
        let writes_wait = inner.writes_wait.max(Waits::Seldom);
        Capabilities { pipeline: false, reads_wait, writes_wait, ..inner }
    }

    fn session(&self, open: &mut Open<'_>) -> Result<(RetrySession, PlainValues)> {
        let session = RetrySession {
            session: open()?,
            retry: Arc::clone(&self.retry),
            calls: 0,
            random: RandomState::new().hash_one(0_u8) | 1,
        };
        Ok((session, PlainValues))
    }

    fn within(&self, namespace: Arc<dyn Store>) -> Self {
        Self { store: namespace, retry: Arc::clone(&self.retry) }
    }

    fn describe(&self, info: &mut StoreInfo) {
        info.settings.insert("retry".into(), self.retry.settings.to_string());
    }

    fn counters(&self) -> Vec<Counter> {
        let count =
            |name, count: &AtomicU64| Counter { name, value: count.load(Ordering::Relaxed) };
        vec![
            count("retry_repeated", &self.retry.repeated),
            count("retry_over_budget", &self.retry.refused),
        ]
    }
}

struct RetrySession {
    session: Box<dyn Session>,
    retry: Arc<Retry>,
    /// Calls whose share the budget has not got yet. It gets them with the next failure, so that a sound call costs no step
    /// on memory that sessions share.
    calls: u64,
    random: u64,
}

impl RetrySession {
    /// Waits before repetition `n`; `false` where the call is not repeated.
    fn waits(&mut self, n: u32, since: Instant) -> bool {
        let calls = std::mem::take(&mut self.calls);
        let random = next_random(&mut self.random);
        let Some(pause) = self.retry.pause(n, since, calls, random) else { return false };
        self.retry.timer.pause(pause);
        true
    }
}

impl Around for RetrySession {
    const WATCHES_ENTRIES: bool = true;

    #[inline]
    fn call<T: Outcome>(
        &mut self,
        call: &Call<'_>,
        mut run: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        self.calls += 1;
        if !call.may_repeat() {
            return run(&mut *self.session);
        }
        let since = self.retry.timer.now();
        let (mut n, mut fault) = (0, None);
        loop {
            let result = run(&mut *self.session);
            let error = match result {
                Err(error) if call.may_repeat() => error,
                result => return result,
            };
            if error.is_not_made() {
                // The breaker has opened meanwhile. The fault tells more than its refusal.
                return Err(fault.unwrap_or(error));
            }
            if !error.is_fault() || !self.waits(n, since) {
                return Err(error);
            }
            (n, fault) = (n + 1, Some(error));
        }
    }
}

/// Marsaglia's xorshift64*, 2003.
fn next_random(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_F491_4F6C_DD1D)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_read_and_show() {
        let two = Settings::default();
        let within = Duration::from_secs(3);
        for (text, settings) in [
            ("2", two),
            ("5,within:3s", Settings { times: 5, within, ..two }),
            ("2,budget:20,backoff:10ms", Settings { budget: 20, ..two }),
        ] {
            assert_eq!(text.parse(), Ok(settings));
            assert_eq!(settings.to_string().parse(), Ok(settings));
        }
        for (text, message) in [
            ("0", "`0` is not a number of repetitions from 1 to 100; write retry=2"),
            ("2,backoff", "`backoff` is none of backoff, within, budget with a value"),
            ("2,backoff:2h", "backoff:2h is not from 1us to 1h"),
            ("2,budget:101", "`101` is not a number of percent from 1 to 100"),
        ] {
            let error = text.parse::<Settings>().unwrap_err();
            assert!(error.contains(message) && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn repetitions_are_a_share_of_the_calls_and_a_burst() {
        let budget = Budget(AtomicU64::new(BURST * PRICE));
        let n_calls = 10_000;
        let taken = (0..n_calls).filter(|_| budget.take(10)).count() as u64;
        assert_eq!(taken, n_calls / 10 + BURST - 1);
        // What is saved has a limit.
        assert!(budget.take(1_000_000));
        assert_eq!((0..100).filter(|_| budget.take(0)).count() as u64, BURST - 1);
    }

    #[test]
    fn pauses_take_every_length_up_to_the_longest() {
        let longest = Duration::from_millis(8);
        let mut random = 1;
        let mut eighths = [0; 8];
        for _ in 0..8000 {
            let pause = jittered(longest, next_random(&mut random));
            eighths[usize::try_from(pause.as_micros() / 1000).unwrap()] += 1;
        }
        assert!(eighths.iter().all(|n| (800..1200).contains(n)), "{eighths:?}");
        assert_eq!(jittered(longest, 0), Duration::ZERO);
        assert!(jittered(longest, u64::MAX) < longest);
    }
}
