//! A breaker: no calls to a store that does not answer.
//!
//! It is closed until a number of calls in a row fail by a fault of the store. Then it is open: calls are refused at once.
//! Once a while a single call of all sessions is let through, a probe. If that succeeds, more and more calls may be on their
//! way at once, and the others are still refused. After 16 successes in a row all calls go through again.
//!
//! A session may be opened while the breaker is open: some stores connect then, and others with the first call.

mod machine;

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use larder_store::layer::{Around, Call, CallKind, Layer, Layered, Open, PlainValues, Wrap};
use larder_store::{
    Capabilities, Counter, Error, Result, Session, Span, Store, StoreInfo, StoreLayer,
};
use schemars::{JsonSchema, schema_for};

use super::parts::{number, split};
use super::{SystemTimer, Timer};
use machine::{Machine, Permit, Verdict};

const EXAMPLE: &str = "breaker=5 or breaker=5,probe:1s";

/// The layer as the catalog lists it.
pub const LAYER: StoreLayer =
    StoreLayer { option: "breaker", schema: || schema_for!(Settings), read };

/// A breaker, which refuses calls at once while the store does not answer. `breaker=5` opens it after five failures in a
/// row: timeouts, lost connections, errors of the system. Then a single call each second, of all threads, tries the store
/// (`breaker=5,probe:1s`). After a success more and more calls go through at once, and the others are still refused. Refusals
/// are `unavailable`, and say when the store is tried next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
pub struct Settings {
    /// The failures in a row that open the breaker, from 1 to 1000000.
    pub failures: u32,
    /// The shortest time between two probes.
    pub probe: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { failures: 5, probe: Duration::from_secs(1) }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},probe:{}", self.failures, Span(self.probe))
    }
}

impl FromStr for Settings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (failures, pairs) = split(text, &["probe"], EXAMPLE)?;
        let wrong = |problem| format!("{problem}; write {EXAMPLE}");
        let failures = number("failures", failures, 1, 1_000_000).map_err(wrong)?;
        let mut settings = Self { failures, ..Self::default() };
        for (_, value) in pairs {
            let Span(probe) = value.parse()?;
            if !(Duration::from_millis(1)..=Duration::from_hours(1)).contains(&probe) {
                return Err(format!("a probe each {value} is not from 1ms to 1h; write {EXAMPLE}"));
            }
            settings.probe = probe;
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

/// The store with a breaker around it.
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
    let inside = Inside { machine: Machine::new(settings.failures, settings.probe), last: None };
    let breaker = Breaker {
        settings: *settings,
        timer,
        engine,
        quiet: AtomicU64::new(0),
        inside: Mutex::new(inside),
    };
    breaker.publish(&breaker.lock());
    Arc::new(Layered(BreakerLayer { store, breaker: Arc::new(breaker) }))
}

/// The breaker of a store, which all its sessions share.
#[derive(Debug)]
struct Breaker {
    settings: Settings,
    timer: Arc<dyn Timer>,
    engine: &'static str,
    /// One more than the permit of calls that need not ask; 0 where they must. So a call of a sound store costs two looks at
    /// a number that seldom changes.
    quiet: AtomicU64,
    inside: Mutex<Inside>,
}

#[derive(Debug)]
struct Inside {
    machine: Machine,
    /// The last fault, for messages.
    last: Option<String>,
}

impl Breaker {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, inside: &Inside) {
        let quiet = inside.machine.quiet().map_or(0, |Permit(epoch)| epoch + 1);
        self.quiet.store(quiet, Ordering::Relaxed);
    }

    fn ask(&self) -> Result<Pass<'_>> {
        let quiet = self.quiet.load(Ordering::Relaxed);
        if quiet > 0 {
            return Ok(Pass { breaker: self, permit: Permit(quiet - 1), is_told: false });
        }
        let mut inside = self.lock();
        match inside.machine.ask(self.timer.now()) {
            Ok(permit) => Ok(Pass { breaker: self, permit, is_told: false }),
            Err(wait) => Err(Error::not_made(self.engine, self.refusal(&inside, wait))),
        }
    }

    fn refusal(&self, inside: &Inside, wait: Duration) -> String {
        let Settings { failures, .. } = self.settings;
        let state = inside.machine.name();
        let last = inside.last.as_deref().unwrap_or("unknown");
        let until = match (state, wait.is_zero()) {
            ("open", false) => format!("no call for {} ms, then a probe", wait.as_millis().max(1)),
            ("open", true) => "no call until the probe has ended".into(),
            _ => "more calls go through with each success".into(),
        };
        format!(
            "the breaker is {state} after {failures} failures in a row: {until}; the last: {last}"
        )
    }

    fn tell(&self, permit: Permit, verdict: Verdict, last: Option<&Error>) {
        let is_quiet = self.quiet.load(Ordering::Relaxed) == permit.0 + 1;
        if is_quiet && verdict != Verdict::Fault {
            return;
        }
        let mut inside = self.lock();
        inside.machine.tell(permit, verdict, self.timer.now());
        if let Some(last) = last {
            inside.last = Some(last.to_string());
        }
        self.publish(&inside);
    }
}

/// The permission of one call. If the call panics, it tells nothing, so that the breaker waits for no answer of it.
struct Pass<'a> {
    breaker: &'a Breaker,
    permit: Permit,
    is_told: bool,
}

impl Pass<'_> {
    fn end(mut self, verdict: Verdict, last: Option<&Error>) {
        self.is_told = true;
        self.breaker.tell(self.permit, verdict, last);
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if !self.is_told {
            self.breaker.tell(self.permit, Verdict::Nothing, None);
        }
    }
}

#[derive(Debug)]
struct BreakerLayer {
    store: Arc<dyn Store>,
    breaker: Arc<Breaker>,
}

impl Layer for BreakerLayer {
    type Around = BreakerSession;
    type Codec = PlainValues;

    fn store(&self) -> Result<&dyn Store> {
        Ok(&*self.store)
    }

    fn engine(&self) -> &'static str {
        self.breaker.engine
    }

    /// A forked child may find the lock of the breaker taken for ever.
    fn capabilities(&self) -> Capabilities {
        Capabilities { pipeline: false, forks: false, ..self.store.capabilities() }
    }

    fn session(&self, open: &mut Open<'_>) -> Result<(BreakerSession, PlainValues)> {
        let session = BreakerSession { session: open()?, breaker: Arc::clone(&self.breaker) };
        Ok((session, PlainValues))
    }

    fn within(&self, namespace: Arc<dyn Store>) -> Self {
        Self { store: namespace, breaker: Arc::clone(&self.breaker) }
    }

    fn describe(&self, info: &mut StoreInfo) {
        let state = self.breaker.lock().machine.name();
        info.settings.insert("breaker".into(), self.breaker.settings.to_string());
        info.settings.insert("breaker_state".into(), state.into());
    }

    fn counters(&self) -> Vec<Counter> {
        let counts = self.breaker.lock().machine.counts;
        [
            ("breaker_opened", counts.opened),
            ("breaker_closed", counts.closed),
            ("breaker_probes", counts.probes),
            ("breaker_refused", counts.refused),
        ]
        .map(|(name, value)| Counter { name, value })
        .to_vec()
    }
}

struct BreakerSession {
    session: Box<dyn Session>,
    breaker: Arc<Breaker>,
}

impl Around for BreakerSession {
    const WATCHES_ENTRIES: bool = true;

    #[inline]
    fn call<T>(
        &mut self,
        call: &Call,
        mut run: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        if call.kind == CallKind::Local {
            return run(&mut *self.session);
        }
        let pass = self.breaker.ask()?;
        let result = run(&mut *self.session);
        match &result {
            Ok(_) if call.has_fault() => pass.end(Verdict::Fault, None),
            Ok(_) => pass.end(Verdict::Answer, None),
            Err(error) if error.is_fault() => pass.end(Verdict::Fault, Some(error)),
            Err(_) => pass.end(Verdict::Nothing, None),
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_read_and_show() {
        for (text, failures, probe) in [("5", 5, 1000), ("1,probe:250ms", 1, 250)] {
            let settings: Settings = text.parse().unwrap();
            assert_eq!(settings, Settings { failures, probe: Duration::from_millis(probe) });
            assert_eq!(settings.to_string().parse(), Ok(settings));
        }
        for (text, message) in [
            ("0", "`0` is not a number of failures from 1 to 1000000; write breaker=5"),
            ("on", "`on` is not a number of failures"),
            ("5,1s", "`1s` is none of probe with a value; write breaker=5 or breaker=5,probe:1s"),
            ("5,probe:0", "a probe each 0 is not from 1ms to 1h"),
            ("5,probe:1s,probe:2s", "`probe` is given twice"),
        ] {
            let error = text.parse::<Settings>().unwrap_err();
            assert!(error.contains(message) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
