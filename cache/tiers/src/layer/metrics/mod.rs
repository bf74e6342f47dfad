//! Metrics: the number, the errors and the times of calls, by their kind.
//!
//! Each session counts for itself, so that no session slows another one down. The counts are added up by whoever reads them.

mod histogram;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use larder_store::layer::{
    Around, Call, CallKind, Layer, Layered, Open, Outcome, PlainValues, Wrap,
};
use larder_store::{Capabilities, Counter, Result, Session, Store, StoreInfo, StoreLayer};
use schemars::{JsonSchema, schema_for};

use histogram::{Histogram, Sums};

/// The layer as the catalog lists it.
pub const LAYER: StoreLayer =
    StoreLayer { option: "metrics", schema: || schema_for!(Settings), read };

/// `metrics=on` counts the calls of each kind (reads, sets, deletes …) and their errors, and times them. `larder stats` and the
/// statistics of `larder serve` show them among the counters of the store: `read_calls`, `read_micros`, `read_errors`,
/// and the calls that took at most a time, as `read_in_ten_ms`. A call takes some 90 ns more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema)]
pub struct Settings {}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("on")
    }
}

impl FromStr for Settings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "on" => Ok(Self {}),
            _ => Err(format!("`{text}` is not on or off; write metrics=on")),
        }
    }
}

fn read(text: &str) -> Result<Option<Wrap>, String> {
    if text == "off" {
        return Ok(None);
    }
    let settings: Settings = text.parse()?;
    Ok(Some(Wrap::new(move |store| layer(store, &settings).0)))
}

/// The store with its calls counted and timed, and the figures.
pub fn layer(store: Arc<dyn Store>, settings: &Settings) -> (Arc<dyn Store>, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::default());
    let layer = MetricsLayer {
        engine: store.info().scheme,
        settings: *settings,
        store,
        metrics: Arc::clone(&metrics),
    };
    (Arc::new(Layered(layer)), metrics)
}

/// The figures of a store, which all its sessions share.
#[derive(Debug, Default)]
pub struct Metrics {
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    open: Vec<Arc<Times>>,
    /// The sums of sessions that have ended.
    ended: [Sums; CallKind::ALL.len()],
    errors: BTreeMap<(CallKind, &'static str), u64>,
}

/// The times of one session. A kind takes memory once it has a call.
#[derive(Debug, Default)]
struct Times([OnceLock<Box<Histogram>>; CallKind::ALL.len()]);

impl Times {
    fn add_to(&self, sums: &mut [Sums; CallKind::ALL.len()]) {
        for (sum, times) in sums.iter_mut().zip(&self.0) {
            if let Some(times) = times.get() {
                times.add_to(sum);
            }
        }
    }
}

/// The calls of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calls {
    /// Their kind.
    pub kind: CallKind,
    /// The errors, by their [kind](larder_store::Error::kind). A call for many counts once, by its first error.
    pub errors: BTreeMap<&'static str, u64>,
    times: Sums,
}

impl Calls {
    /// The number of calls.
    pub fn count(&self) -> u64 {
        self.times.total()
    }

    /// The time of all calls together.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.times.nanos)
    }

    /// The time that this share of the calls, from 0 to 1, does not exceed, to an eighth; `None` without calls.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        self.times.quantile(share)
    }

    /// The calls that took at most this time, to an eighth of it.
    pub fn within(&self, time: Duration) -> u64 {
        self.times.within(time)
    }
}

impl Metrics {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self) -> Arc<Times> {
        let mut inside = self.lock();
        inside.fold_ended();
        let times = Arc::<Times>::default();
        inside.open.push(Arc::clone(&times));
        times
    }

    fn error(&self, kind: CallKind, error: &'static str) {
        *self.lock().errors.entry((kind, error)).or_default() += 1;
    }

    /// The calls of every kind, in the order of [`CallKind::ALL`].
    pub fn snapshot(&self) -> Vec<Calls> {
        let mut inside = self.lock();
        inside.fold_ended();
        let mut sums = inside.ended.clone();
        for times in &inside.open {
            times.add_to(&mut sums);
        }
        let calls = |(kind, times): (CallKind, Sums)| {
            let errors = inside.errors.iter().filter(|((of, _), _)| *of == kind);
            let errors = errors.map(|((_, error), n)| (*error, *n)).collect();
            Calls { kind, errors, times }
        };
        CallKind::ALL.into_iter().zip(sums).map(calls).collect()
    }
}

impl Inside {
    /// Adds the times of ended sessions to the sums; times that no session holds change no more.
    fn fold_ended(&mut self) {
        let Self { open, ended, .. } = self;
        open.retain_mut(|times| {
            let Some(times) = Arc::get_mut(times) else { return true };
            times.add_to(ended);
            false
        });
    }
}

/// The names of the counters of each kind of call, in the order of [`CallKind::ALL`].
macro_rules! names {
    ($($word:literal)*) => {
        [$([
            concat!($word, "_calls"),
            concat!($word, "_errors"),
            concat!($word, "_micros"),
            concat!($word, "_in_one_ms"),
            concat!($word, "_in_ten_ms"),
            concat!($word, "_in_hundred_ms"),
        ]),*]
    };
}

/// The last two kinds are left out: they tell little of a store.
const NAMES: [[&str; 6]; CallKind::ALL.len() - 2] =
    names!["read" "read_many" "set" "set_if" "set_many" "delete" "touch" "count" "lease"];

/// The errors that have a counter of their own. The other errors are `errors_other`.
const ERRORS: [(&str, &str); 3] =
    [("timeout", "errors_timeout"), ("unavailable", "errors_unavailable"), ("io", "errors_io")];

/// All counters. They are always the same, also of kinds without a call.
fn counters(kinds: &[Calls]) -> Vec<Counter> {
    let mut counters: Vec<Counter> =
        NAMES.into_iter().zip(kinds).flat_map(|(names, calls)| counters_of(names, calls)).collect();
    let errors = || kinds.iter().flat_map(|calls| &calls.errors);
    let sum = |known: &str| errors().filter(|(kind, _)| **kind == known).map(|(_, n)| n).sum();
    let own = ERRORS.map(|(kind, name)| Counter { name, value: sum(kind) });
    let all: u64 = errors().map(|(_, n)| n).sum();
    let other = all - own.iter().map(|counter| counter.value).sum::<u64>();
    counters.extend(own);
    counters.push(Counter { name: "errors_other", value: other });
    counters
}

/// The counters of the calls of one kind.
fn counters_of(names: [&'static str; 6], calls: &Calls) -> impl Iterator<Item = Counter> {
    let within = |millis| calls.within(Duration::from_millis(millis));
    let errors = calls.errors.values().sum();
    let values =
        [calls.count(), errors, calls.times.nanos / 1000, within(1), within(10), within(100)];
    names.into_iter().zip(values).map(|(name, value)| Counter { name, value })
}

#[derive(Debug)]
struct MetricsLayer {
    store: Arc<dyn Store>,
    engine: &'static str,
    settings: Settings,
    metrics: Arc<Metrics>,
}

impl Layer for MetricsLayer {
    type Around = MetricsSession;
    type Codec = PlainValues;

    fn store(&self) -> Result<&dyn Store> {
        Ok(&*self.store)
    }

    fn engine(&self) -> &'static str {
        self.engine
    }

    /// A forked child may find the lock of the sessions taken for ever.
    fn capabilities(&self) -> Capabilities {
        Capabilities { pipeline: false, forks: false, ..self.store.capabilities() }
    }

    fn session(&self, open: &mut Open<'_>) -> Result<(MetricsSession, PlainValues)> {
        let session = open()?;
        let times = self.metrics.session();
        Ok((MetricsSession { session, metrics: Arc::clone(&self.metrics), times }, PlainValues))
    }

    fn within(&self, namespace: Arc<dyn Store>) -> Self {
        let metrics = Arc::clone(&self.metrics);
        Self { store: namespace, engine: self.engine, settings: self.settings, metrics }
    }

    fn describe(&self, info: &mut StoreInfo) {
        info.settings.insert("metrics".into(), self.settings.to_string());
    }

    fn counters(&self) -> Vec<Counter> {
        counters(&self.metrics.snapshot())
    }
}

struct MetricsSession {
    session: Box<dyn Session>,
    metrics: Arc<Metrics>,
    times: Arc<Times>,
}

impl Around for MetricsSession {
    const WATCHES_ENTRIES: bool = true;

    #[inline]
    fn call<T: Outcome>(
        &mut self,
        call: &Call<'_>,
        mut run: impl FnMut(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        let since = Instant::now();
        let result = run(&mut *self.session);
        self.times.0[call.kind as usize].get_or_init(Box::default).add(since.elapsed());
        let error = result.as_ref().err().map_or_else(|| call.entry_error(), |e| Some(e.kind()));
        if let Some(error) = error {
            self.metrics.error(call.kind, error);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_in_the_order_of_their_numbers() {
        for (place, kind) in CallKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
        }
    }

    #[test]
    fn the_only_settings_are_on_and_off() {
        assert_eq!(Settings {}.to_string().parse(), Ok(Settings {}));
        assert!(read("off").unwrap().is_none());
        let error = read("yes").unwrap_err();
        assert_eq!(error, "`yes` is not on or off; write metrics=on");
    }

    #[test]
    fn times_of_ended_sessions_stay() {
        let metrics = Metrics::default();
        let [one, two] = [metrics.session(), metrics.session()];
        let add = |times: &Times| {
            times.0[CallKind::Set as usize].get_or_init(Box::default).add(Duration::from_millis(1));
        };
        add(&one);
        add(&two);
        drop(one);
        for _ in 0..2 {
            let kinds = metrics.snapshot();
            let calls = &kinds[CallKind::Set as usize];
            assert_eq!((calls.kind, calls.count()), (CallKind::Set, 2));
            assert_eq!(calls.total(), Duration::from_millis(2));
            assert_eq!(metrics.lock().open.len(), 1);
        }
        metrics.error(CallKind::Set, "timeout");
        metrics.error(CallKind::Read, "busy");
        let kinds = metrics.snapshot();
        assert_eq!(kinds[CallKind::Set as usize].errors, BTreeMap::from([("timeout", 1)]));
        assert_eq!(kinds.iter().map(Calls::count).sum::<u64>(), 2);
        let counters = counters(&kinds);
        let value = |name| counters.iter().find(|it| it.name == name).unwrap().value;
        assert_eq!((value("set_calls"), value("set_errors"), value("set_micros")), (2, 1, 2000));
        assert_eq!((value("set_in_ten_ms"), value("read_in_ten_ms")), (2, 0));
        assert_eq!((value("errors_timeout"), value("errors_other")), (1, 1));
    }
}
