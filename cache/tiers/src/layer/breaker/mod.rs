//! A breaker: no calls to a store that does not answer.
//!
//! It is closed until a number of calls in a row fail by a fault of the store. Then it is open: calls are refused at once.
//! Once a while a single call of all sessions is let through, a probe. If that succeeds, more and more calls may be on their
//! way at once, and the others are still refused. After 16 successes in a row all calls go through again.
//!
//! A pool of servers has a breaker before each of them ([`Store::gate_servers`]), so that one that fails concerns no keys
//! but its own. Any other store has one for all its calls.
//!
//! A session may be opened while the breaker is open: some stores connect then, and others with the first call.

mod machine;

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use larder_store::layer::{
    Around, Call, CallKind, Layer, Layered, Open, Outcome, PlainValues, Wrap,
};
use larder_store::{
    CallEnd, Capabilities, Counter, Error, Gate, Pass, Permits, Result, Session, Span, Store,
    StoreInfo, StoreLayer, count,
};
use schemars::{JsonSchema, schema_for};

use super::parts::{number, split};
use super::{SystemTimer, Timer};
use machine::{Counts, Machine, Permit, Verdict};

const EXAMPLE: &str = "breaker=5 or breaker=5,probe:1s";

/// The layer as the catalog lists it.
pub const LAYER: StoreLayer =
    StoreLayer { option: "breaker", schema: || schema_for!(Settings), read };

/// A breaker, which refuses calls at once while the store does not answer. `breaker=5` opens it after five failures in a
/// row: timeouts, lost connections, errors of the system. Then a single call each second, of all threads, tries the store
/// (`breaker=5,probe:1s`). After a success more and more calls go through at once, and the others are still refused. Refusals
/// are `unavailable`, and say when the store is tried next. In a pool of memcached each server has its own breaker, so that
/// the keys of the others are read and written as before.
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
    let timer: Arc<dyn Timer> = Arc::new(SystemTimer);
    layer_with(store, settings, &timer)
}

/// The same with another time.
pub fn layer_with(
    store: Arc<dyn Store>,
    settings: &Settings,
    timer: &Arc<dyn Timer>,
) -> Arc<dyn Store> {
    let engine = store.info().scheme;
    let make =
        |server, name| Arc::new(Breaker::new(engine, server, name, settings, Arc::clone(timer)));
    let mut breakers = Vec::new();
    let is_gated = store.gate_servers(&mut |server| {
        let breaker = make(Some(server.to_owned()), format!("{engine}:{server}"));
        breakers.push(Arc::clone(&breaker));
        breaker
    });
    if !is_gated {
        breakers = vec![make(None, shared_name(&store.info()))];
    }
    let (breakers, settings) = (breakers.into(), *settings);
    Arc::new(Layered(BreakerLayer { store, engine, settings, breakers, is_gated }))
}

/// The name of a store for other processes: the addresses of its servers, or its URL where it names none.
fn shared_name(info: &StoreInfo) -> String {
    match &info.addresses[..] {
        [] => info.url.clone(),
        addresses => format!("{}:{}", info.scheme, addresses.join(",")),
    }
}

/// The breaker of a store or of one of its servers, which all sessions share.
#[derive(Debug)]
struct Breaker {
    /// The name of the server, where the store has several.
    server: Option<String>,
    /// The name by which processes share probes: the server's, or that of all servers of the store.
    name: String,
    /// The permits of probes, where processes share them.
    permits: OnceLock<Arc<dyn Permits>>,
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
    fn new(
        engine: &'static str,
        server: Option<String>,
        name: String,
        settings: &Settings,
        timer: Arc<dyn Timer>,
    ) -> Self {
        let machine = Machine::new(settings.failures, settings.probe);
        let (quiet, permits) = (AtomicU64::new(0), OnceLock::new());
        let inside = Mutex::new(Inside { machine, last: None });
        let breaker =
            Self { server, name, permits, settings: *settings, timer, engine, quiet, inside };
        breaker.publish(&breaker.lock());
        breaker
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, inside: &Inside) {
        let quiet = inside.machine.quiet().map_or(0, |Permit(epoch)| epoch + 1);
        self.quiet.store(quiet, Ordering::Relaxed);
    }

    /// Begins a probe, unless another process makes one. No lock is held meanwhile: other calls are refused at once.
    fn probe(&self, permit: Permit) -> Result<u64> {
        let every = self.settings.probe;
        let may = |permits: &Arc<dyn Permits>| permits.may_probe(&self.name, every);
        if self.permits.get().is_none_or(may) {
            return Ok(permit.0);
        }
        let mut inside = self.lock();
        let wait = inside.machine.put_off(permit, self.timer.now());
        Err(Error::not_made(self.engine, self.refusal(&inside, wait)))
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
        let server = self.server.as_ref().map(|server| format!("{server}: ")).unwrap_or_default();
        format!(
            "{server}the breaker is {state} after {} in a row: {until}; the last: {last}",
            count(failures, "failure")
        )
    }
}

impl Gate for Breaker {
    #[inline]
    fn ask(&self) -> Result<u64> {
        let quiet = self.quiet.load(Ordering::Relaxed);
        if quiet > 0 {
            return Ok(quiet - 1);
        }
        let mut inside = self.lock();
        match inside.machine.ask(self.timer.now()) {
            Ok(permit) if inside.machine.is_probe(permit) => {
                drop(inside);
                self.probe(permit)
            }
            Ok(Permit(epoch)) => Ok(epoch),
            Err(wait) => Err(Error::not_made(self.engine, self.refusal(&inside, wait))),
        }
    }

    #[inline]
    fn report(&self, permit: u64, end: CallEnd<'_>) {
        let is_quiet = self.quiet.load(Ordering::Relaxed) == permit + 1;
        if is_quiet && !matches!(end, CallEnd::Fault(_)) {
            return;
        }
        let (verdict, last) = match end {
            CallEnd::Answer => (Verdict::Answer, None),
            CallEnd::Fault(error) => (Verdict::Fault, error),
            CallEnd::Nothing => (Verdict::Nothing, None),
        };
        let mut inside = self.lock();
        inside.machine.report(Permit(permit), verdict, self.timer.now());
        if let Some(last) = last {
            inside.last = Some(last.to_string());
        }
        self.publish(&inside);
    }
}

#[derive(Debug)]
struct BreakerLayer {
    store: Arc<dyn Store>,
    engine: &'static str,
    settings: Settings,
    /// One for the store, or one for each of its servers.
    breakers: Arc<[Arc<Breaker>]>,
    /// Whether the store itself asks the breakers of its servers.
    is_gated: bool,
}

impl BreakerLayer {
    /// The state in a word; for a pool, the servers whose breaker is not closed.
    fn state(&self) -> String {
        let name = |breaker: &Breaker| breaker.lock().machine.name();
        let open = self.breakers.iter().filter_map(|breaker| {
            let (server, name) = (breaker.server.as_ref()?, name(breaker));
            (name != "closed").then(|| format!("{server} {name}"))
        });
        match &self.breakers[..] {
            [breaker] if !self.is_gated => name(breaker).into(),
            _ => Some(open.collect::<Vec<_>>().join(", "))
                .filter(|open| !open.is_empty())
                .unwrap_or_else(|| "closed".into()),
        }
    }
}

impl Layer for BreakerLayer {
    type Around = BreakerSession;
    type Codec = PlainValues;

    fn store(&self) -> Result<&dyn Store> {
        Ok(&*self.store)
    }

    fn engine(&self) -> &'static str {
        self.engine
    }

    /// A forked child may find the lock of the breaker taken for ever.
    fn capabilities(&self) -> Capabilities {
        Capabilities { pipeline: false, forks: false, ..self.store.capabilities() }
    }

    fn session(&self, open: &mut Open<'_>) -> Result<(BreakerSession, PlainValues)> {
        let breaker = self.breakers.first().filter(|_| !self.is_gated).map(Arc::clone);
        Ok((BreakerSession { session: open()?, breaker }, PlainValues))
    }

    fn within(&self, namespace: Arc<dyn Store>) -> Self {
        let (breakers, is_gated) = (Arc::clone(&self.breakers), self.is_gated);
        Self { store: namespace, engine: self.engine, settings: self.settings, breakers, is_gated }
    }

    /// The first permits stay: a store may be a tier of one stack only.
    fn share_probes(&self, permits: &Arc<dyn Permits>) {
        for breaker in &*self.breakers {
            let _ = breaker.permits.set(Arc::clone(permits));
        }
    }

    fn describe(&self, info: &mut StoreInfo) {
        info.settings.insert("breaker".into(), self.settings.to_string());
        info.settings.insert("breaker_state".into(), self.state());
    }

    fn counters(&self) -> Vec<Counter> {
        let counts = self.breakers.iter().map(|breaker| breaker.lock().machine.counts);
        let counts: Vec<_> = counts.collect();
        let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum();
        [
            ("breaker_opened", sum(|counts| counts.opened)),
            ("breaker_closed", sum(|counts| counts.closed)),
            ("breaker_probes", sum(|counts| counts.probes)),
            ("breaker_refused", sum(|counts| counts.refused)),
        ]
        .map(|(name, value)| Counter { name, value })
        .to_vec()
    }
}

struct BreakerSession {
    session: Box<dyn Session>,
    /// The breaker of the store; `None` where its servers have their own.
    breaker: Option<Arc<Breaker>>,
}

impl Around for BreakerSession {
    const WATCHES_ENTRIES: bool = true;

    #[inline]
    fn call<T: Outcome>(
        &mut self,
        call: &Call<'_>,
        mut run: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        let Some(breaker) = self.breaker.as_ref().filter(|_| call.kind != CallKind::Local) else {
            return run(&mut *self.session);
        };
        let pass = Pass::ask(&**breaker)?;
        let result = run(&mut *self.session);
        let has_fault = result.is_ok() && call.has_fault();
        pass.end(if has_fault { CallEnd::Fault(None) } else { CallEnd::of(&result) });
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
