//! Layers around a spied store: the requests that reach it, and the answers of its callers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use larder_store::layer::CallKind;
use larder_store::{Capabilities, Catalog, Permits, Put, Result, Stats, StoreInfo};
use larder_tiers::layer::{LAYERS, Timer, breaker, metrics, retry};

use super::spy::Fault;
use super::*;

/// A time that stands still. A pause moves it, and is noted.
#[derive(Debug)]
struct Standing {
    now: Mutex<Instant>,
    pauses: Mutex<Vec<Duration>>,
}

impl Standing {
    fn new() -> Arc<Self> {
        Arc::new(Self { now: Mutex::new(Instant::now()), pauses: Mutex::default() })
    }

    fn advance(&self, time: Duration) {
        *self.now.lock().unwrap() += time;
    }
}

impl Timer for Standing {
    fn now(&self) -> Instant {
        *self.now.lock().unwrap()
    }

    fn pause(&self, time: Duration) {
        self.advance(time);
        self.pauses.lock().unwrap().push(time);
    }
}

fn with_layers() -> Catalog {
    catalog().with_layers(LAYERS)
}

fn open_layered(url: &str) -> Result<Arc<dyn Store>> {
    with_layers().open(&StoreUrl::parse(url).unwrap())
}

/// A spied store with a breaker that opens after three failures, its time, and its spy.
fn broken(name: &str) -> (Arc<dyn Store>, Arc<Standing>, Arc<Spy>) {
    let (timer, path) = (Standing::new(), format!("/breaker/{name}"));
    let store = open(&format!("spy:{path}"));
    let settings = breaker::Settings { failures: 3, ..breaker::Settings::default() };
    let store = breaker::layer_with(store, &settings, &(Arc::clone(&timer) as Arc<dyn Timer>));
    (store, timer, spy(&path))
}

fn counter(store: &dyn Store, name: &str) -> u64 {
    let counters = store.counters().unwrap();
    counters.iter().find(|counter| counter.name == name).unwrap().value
}

fn read(session: &mut dyn Session) -> Result<Option<Meta>> {
    session.get(b"k", &mut Vec::new())
}

#[test]
fn an_open_breaker_makes_no_call_and_says_until_when() {
    let (store, timer, spy) = broken("open");
    let session = &mut *store.session().unwrap();
    spy.fail_with(Fault::Passing, u32::MAX);
    for _ in 0..3 {
        assert!(read(session).unwrap_err().is_fault());
    }
    assert_eq!(spy.asked().len(), 3);
    timer.advance(Duration::from_millis(400));
    for _ in 0..100 {
        let error = read(session).unwrap_err();
        assert!(error.is_not_made() && matches!(error, Error::Unavailable { .. }), "{error:?}");
        let text = error.to_string();
        let says = "the breaker is open after 3 failures in a row: no call for 600 ms, then a probe; the last: spy: told to fail";
        assert!(text.contains(says) && !text.contains('\n'), "{text}");
    }
    let options = SetOptions::default();
    assert!(session.set(b"k", b"v", &options).unwrap_err().is_not_made());
    assert!(session.clear().unwrap_err().is_not_made());
    assert!(store.session().unwrap().delete(b"k").unwrap_err().is_not_made());
    assert_eq!(spy.asked(), Vec::<String>::new());
    assert_eq!(counter(&*store, "breaker_refused"), 103);
    assert_eq!(store.info().settings["breaker_state"], "open");
}

#[test]
fn all_threads_together_send_one_probe_a_second() {
    let (store, timer, spy) = broken("probe");
    spy.fail_with(Fault::Passing, u32::MAX);
    let reads = || {
        let mut session = store.session().unwrap();
        for _ in 0..50 {
            assert!(read(&mut *session).is_err());
        }
    };
    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(reads))));
    // Calls that were on their way when it opened may end later, but no thread had more than one.
    assert!((3..3 + 8).contains(&spy.asked().len()));
    for _ in 0..5 {
        timer.advance(SECOND);
        thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(reads))));
        assert_eq!(spy.asked(), ["get k"]);
    }
    assert_eq!(counter(&*store, "breaker_probes"), 5);
    assert_eq!(counter(&*store, "breaker_opened"), 1);
}

/// Permits that another process has taken, as long as it says so.
#[derive(Debug, Default)]
struct Taken(AtomicBool, Mutex<Vec<String>>);

impl Permits for Taken {
    fn may_probe(&self, server: &str, every: Duration) -> bool {
        self.1.lock().unwrap().push(format!("{server} for {every:?}"));
        !self.0.load(Ordering::SeqCst)
    }
}

#[test]
fn a_probe_that_another_process_makes_is_put_off() {
    let (store, timer, spy) = broken("shared");
    let taken = Arc::new(Taken(AtomicBool::new(true), Mutex::default()));
    store.share_probes(&(Arc::clone(&taken) as Arc<dyn Permits>));
    let session = &mut *store.session().unwrap();
    spy.fail_with(Fault::Passing, 3);
    (0..3).for_each(|_| drop(read(session)));
    assert_eq!(spy.asked().len(), 3);
    timer.advance(SECOND);
    for _ in 0..4 {
        assert!((0..10).all(|_| read(session).unwrap_err().is_not_made()));
        timer.advance(SECOND / 4);
    }
    assert_eq!(taken.1.lock().unwrap().join(", "), ["map: for 1s"; 4].join(", "));
    assert_eq!(spy.asked(), Vec::<String>::new());
    assert_eq!([counter(&*store, "breaker_probes"), counter(&*store, "breaker_refused")], [0, 40]);
    taken.0.store(false, Ordering::SeqCst);
    read(session).unwrap();
    assert_eq!(spy.asked(), ["get k"]);
    assert_eq!(counter(&*store, "breaker_probes"), 1);
}

#[test]
fn a_probe_that_succeeds_closes_it_after_a_ramp() {
    let (store, timer, spy) = broken("recovery");
    let session = &mut *store.session().unwrap();
    spy.fail_with(Fault::Passing, 3);
    (0..3).for_each(|_| drop(read(session)));
    timer.advance(SECOND);
    // While the probe is on its way, another session is refused.
    let other = Arc::clone(&store);
    let refused = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&refused);
    spy.when_begun(move || {
        *seen.lock().unwrap() = read(&mut *other.session().unwrap()).err();
    });
    read(session).unwrap();
    assert!(refused.lock().unwrap().as_ref().unwrap().is_not_made());
    assert_eq!(store.info().settings["breaker_state"], "recovering");
    // One at once, while the first of the ramp is on its way.
    let (other, seen) = (Arc::clone(&store), Arc::clone(&refused));
    spy.when_begun(move || {
        *seen.lock().unwrap() = read(&mut *other.session().unwrap()).err();
    });
    read(session).unwrap();
    let error = refused.lock().unwrap().take().unwrap().to_string();
    assert!(error.contains("is recovering") && error.contains("with each success"), "{error}");
    for _ in 0..15 {
        read(session).unwrap();
    }
    assert_eq!(store.info().settings["breaker_state"], "closed");
    assert_eq!([counter(&*store, "breaker_opened"), counter(&*store, "breaker_closed")], [1, 1]);
}

#[test]
fn faults_of_the_caller_open_no_breaker() {
    let timer = Standing::new();
    let store = open("spy:/breaker/caller?max=10&max_key=5");
    let settings = breaker::Settings { failures: 1, ..breaker::Settings::default() };
    let store = breaker::layer_with(store, &settings, &(timer as Arc<dyn Timer>));
    let session = &mut *store.session().unwrap();
    let options = SetOptions::default();
    for _ in 0..10 {
        assert_eq!(session.set(b"k", &[0; 11], &options).unwrap_err().kind(), "value_too_large");
        assert_eq!(read_at(session, b"too long").unwrap_err().kind(), "key_too_long");
    }
    assert!(read(session).is_ok());
    assert_eq!(counter(&*store, "breaker_opened"), 0);
}

fn read_at(session: &mut dyn Session, key: &[u8]) -> Result<Option<Meta>> {
    session.get(key, &mut Vec::new())
}

#[test]
fn a_fault_of_an_entry_of_a_batch_counts() {
    let (store, _, spy) = broken("batch");
    let session = &mut *store.session().unwrap();
    spy.fail_with(Fault::Passing, u32::MAX);
    let put = |key| Put { key, value: b"v", options: SetOptions::default() };
    for _ in 0..3 {
        session.set_many(&[put(b"a"), put(b"b")], &mut |_, outcome| drop(outcome)).unwrap();
    }
    assert!(session.delete_many(&[b"a"], &mut |_, _| {}).unwrap_err().is_not_made());
    assert_eq!(spy.asked().len(), 6);
}

/// A spied store that repeats calls twice, its time, and its spy.
fn retried(name: &str, text: &str) -> (Arc<dyn Store>, Arc<Standing>, Arc<Spy>) {
    let (timer, path) = (Standing::new(), format!("/retry/{name}"));
    let store = open(&format!("spy:{path}"));
    let settings = text.parse().unwrap();
    let store = retry::layer_with(store, &settings, Arc::clone(&timer) as Arc<dyn Timer>);
    (store, timer, spy(&path))
}

type Deed = fn(&mut dyn Session) -> Result<()>;

#[test]
fn only_calls_that_do_no_harm_twice_are_repeated() {
    let (store, _, spy) = retried("kinds", "2");
    let session = &mut *store.session().unwrap();
    let set = |mode| SetOptions { mode, ..SetOptions::default() };
    let repeated: [(&str, Deed); 6] = [
        ("get", |it| it.get(b"k", &mut Vec::new()).map(drop)),
        ("get_many", |it| it.get_many(&[b"k"], &mut |_, _, _| {})),
        ("set", |it| it.set(b"k", b"1", &SetOptions::default()).map(drop)),
        ("delete", |it| it.delete(b"k").map(drop)),
        ("touch", |it| it.touch(b"k", None).map(drop)),
        ("get", |it| it.look(b"k").map(drop)),
    ];
    for (name, deed) in repeated {
        spy.fail_with(Fault::Passing, 1);
        deed(session).unwrap();
        let asked = spy.asked();
        assert!(asked.len() == 2 && asked.iter().all(|it| *it == format!("{name} k")), "{asked:?}");
    }
    for mode in [SetMode::Add, SetMode::Replace, SetMode::Append, SetMode::Prepend, SetMode::Cas(1)]
    {
        spy.fail_with(Fault::Passing, 1);
        assert!(session.set(b"k", b"1", &set(mode)).unwrap_err().is_fault());
        assert_eq!(spy.asked().len(), 1, "{mode:?}");
    }
    spy.fail_with(Fault::Passing, 1);
    assert!(session.incr(b"k", Delta::Up(1), None).unwrap_err().is_fault());
    assert_eq!(spy.asked(), ["incr k"]);
    // What would fail again is not repeated either.
    spy.fail_with(Fault::Lasting, 1);
    assert_eq!(read(session).unwrap_err().kind(), "corrupted");
    assert_eq!(spy.asked(), ["get k"]);
}

#[test]
fn a_call_is_repeated_so_many_times_and_with_growing_pauses() {
    let (store, timer, spy) = retried("times", "4,backoff:100ms,within:1h");
    let session = &mut *store.session().unwrap();
    spy.fail_with(Fault::Passing, u32::MAX);
    assert!(read(session).unwrap_err().is_fault());
    assert_eq!(spy.asked().len(), 5);
    let longest = [100, 200, 400, 800].map(Duration::from_millis);
    let pauses = std::mem::take(&mut *timer.pauses.lock().unwrap());
    assert_eq!(pauses.len(), 4);
    assert!(pauses.iter().zip(longest).all(|(pause, longest)| *pause < longest), "{pauses:?}");
}

#[test]
fn no_repetition_begins_after_the_time_of_a_call() {
    let (store, timer, spy) = retried("within", "100,backoff:100ms,within:2s");
    let session = &mut *store.session().unwrap();
    spy.fail_with(Fault::Passing, u32::MAX);
    // The first attempt takes all of the time.
    let slow = Arc::clone(&timer);
    spy.when_begun(move || slow.advance(2 * SECOND));
    assert!(read(session).is_err());
    assert_eq!(spy.asked().len(), 1);
    assert!(read(session).is_err());
    assert!(timer.pauses.lock().unwrap().iter().sum::<Duration>() <= 2 * SECOND);
}

#[test]
fn a_dead_store_gets_a_tenth_more_calls_and_a_burst() {
    let (store, _, spy) = retried("budget", "100,backoff:1us,within:1h");
    spy.fail_with(Fault::Passing, u32::MAX);
    let n_calls = 1000;
    let mut sessions: Vec<_> = (0..4).map(|_| store.session().unwrap()).collect();
    for i in 0..n_calls {
        assert!(read(&mut *sessions[i % 4]).is_err());
    }
    let asked = spy.asked().len();
    let most = n_calls + n_calls / 10 + usize::try_from(retry::BURST).unwrap();
    assert!((n_calls + n_calls / 10..=most).contains(&asked), "{asked}");
    assert!(counter(&*store, "retry_over_budget") > 0);
}

/// A store whose reads of many keys fail after the first key.
#[derive(Debug, Default)]
struct Halfway(Arc<Mutex<u32>>);

struct HalfwaySession(Arc<Mutex<u32>>);

impl Store for Halfway {
    fn info(&self) -> StoreInfo {
        StoreInfo { scheme: "halfway", ..StoreInfo::default() }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(HalfwaySession(Arc::clone(&self.0))))
    }

    fn stats(&self) -> Result<Stats> {
        Ok(Stats::default())
    }
}

impl Session for HalfwaySession {
    fn engine(&self) -> &'static str {
        "halfway"
    }

    fn get(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<Option<Meta>> {
        Ok(None)
    }

    fn set(&mut self, _: &[u8], _: &[u8], _: &SetOptions) -> Result<SetOutcome> {
        Ok(SetOutcome::Stored(None))
    }

    fn get_many(&mut self, _: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        *self.0.lock().unwrap() += 1;
        hit(0, b"value", Meta::default());
        Err(Error::Timeout { engine: "halfway", peer: "no one".into(), after: SECOND })
    }

    fn delete(&mut self, _: &[u8]) -> Result<bool> {
        Ok(false)
    }
}

#[test]
fn no_caller_gets_an_entry_twice() {
    let store = Halfway::default();
    let asked = Arc::clone(&store.0);
    let settings = retry::Settings::default();
    let store = retry::layer_with(Arc::new(store), &settings, Standing::new());
    let mut hits = 0;
    let session = &mut *store.session().unwrap();
    assert!(session.get_many(&[b"a", b"b"], &mut |_, _, _| hits += 1).is_err());
    assert_eq!((hits, *asked.lock().unwrap()), (1, 1));
}

#[test]
fn a_call_that_the_breaker_refused_is_not_repeated() {
    let (store, timer, spy) = broken("within-retry");
    let settings = retry::Settings { times: 100, ..retry::Settings::default() };
    let store = retry::layer_with(store, &settings, Arc::clone(&timer) as Arc<dyn Timer>);
    let session = &mut *store.session().unwrap();
    spy.fail_with(Fault::Passing, u32::MAX);
    // The caller learns of the fault, and not only of the refusal that ended its repetitions.
    assert!(read(session).unwrap_err().is_fault());
    assert_eq!(spy.asked().len(), 3);
    timer.pauses.lock().unwrap().clear();
    assert!(read(session).unwrap_err().is_not_made());
    assert!(timer.pauses.lock().unwrap().is_empty());
    // A probe is one call, although its error would be repeated.
    timer.advance(SECOND);
    assert!(read(session).is_err());
    assert_eq!(spy.asked(), ["get k"]);
}

#[test]
fn metrics_count_what_the_caller_sees() {
    let spied = spy("/metrics");
    let (store, figures) = metrics::layer(open("spy:/metrics"), &metrics::Settings {});
    let session = &mut *store.session().unwrap();
    set(session, "k", b"v", None);
    for _ in 0..3 {
        assert_eq!(get(session, "k"), Some(b"v".to_vec()));
    }
    spied.fail(true);
    assert!(read(session).is_err());
    let put = Put { key: b"k", value: b"v", options: SetOptions::default() };
    session.set_many(&[put, put], &mut |_, _| {}).unwrap();
    let snapshot = figures.snapshot();
    let of = |kind: CallKind| snapshot.iter().find(|calls| calls.kind == kind).unwrap();
    let (reads, sets) = (of(CallKind::Read), of(CallKind::Set));
    assert_eq!((reads.count(), sets.count(), of(CallKind::SetMany).count()), (4, 1, 1));
    assert_eq!(reads.errors.iter().collect::<Vec<_>>(), [(&"corrupted", &1)]);
    assert_eq!(of(CallKind::SetMany).errors.values().sum::<u64>(), 1);
    assert!(reads.quantile(1.0).unwrap() >= reads.quantile(0.5).unwrap());
    assert!(reads.total() > Duration::ZERO);
    assert_eq!(counter(&*store, "read_calls"), 4);
    assert_eq!(counter(&*store, "errors_other"), 2);
}

#[test]
fn a_url_asks_for_layers_in_any_order() {
    let url = "spy:/layered?metrics=on&breaker=3&compress=lz4:10&retry=1&max=100000";
    let store = open_layered(url).unwrap();
    let spied = spy("/layered");
    let session = &mut *store.session().unwrap();
    let long = b"again and ".repeat(1000);
    set(session, "k", &long, None);
    assert_eq!(get(session, "k"), Some(long.clone()));
    let held = value(&spied, "k").unwrap();
    assert!(held.len() < 200, "{} bytes", held.len());
    let batch = [Put { key: b"a", value: &long, options: SetOptions::default() }; 2];
    session.set_many(&batch, &mut |_, outcome| assert!(outcome.unwrap().is_stored())).unwrap();
    let mut seen = Vec::new();
    session.get_many(&[b"a", b"k"], &mut |i, value, _| seen.push((i, value == long))).unwrap();
    seen.sort_unstable();
    assert_eq!(seen, [(0, true), (1, true)]);
    assert_eq!(session.look(b"k").unwrap().unwrap().value_len, long.len());
    // An entry without the layer's byte is a miss, and damage is an error.
    spied.put("foreign", b"plain", None);
    assert_eq!(get(session, "foreign"), None);
    let mut damaged = held;
    *damaged.last_mut().unwrap() ^= 1;
    spied.put("k", &damaged, None);
    assert_eq!(read(session).unwrap_err().kind(), "corrupted");
    assert_eq!(counter(&*store, "compress_unknown_format"), 1);
    assert_eq!(counter(&*store, "compress_values"), 3);
    assert_eq!(session.incr(b"n", Delta::Up(1), None).unwrap_err().kind(), "unsupported");
    // A probe of the breaker is one call, although calls are repeated: the order is not that of the URL.
    spied.fail_with(Fault::Passing, u32::MAX);
    spied.asked();
    for _ in 0..10 {
        assert!(read(session).is_err());
    }
    assert_eq!(spied.asked().len(), 3);
    assert_eq!(counter(&*store, "read_errors"), 11);
    let settings = store.info().settings;
    for (name, text) in [
        ("compress", "lz4:10,limit:64m"),
        ("breaker", "3,probe:1s"),
        ("retry", "1,backoff:10ms,within:1s,budget:10"),
        ("metrics", "on"),
    ] {
        assert_eq!(settings[name], text);
    }
    let capabilities = store.capabilities();
    assert!(!capabilities.append && !capabilities.incr && !capabilities.pipeline);
}

#[test]
fn a_tier_of_a_stack_has_layers_of_its_own() {
    let store =
        open_layered("tiered:spy:/of-stack/1|spy:/of-stack/2?breaker=2|?on_error=error").unwrap();
    let (l1, l2) = (spy("/of-stack/1"), spy("/of-stack/2"));
    let session = &mut *store.session().unwrap();
    set(session, "k", b"v", None);
    l2.fail_with(Fault::Passing, u32::MAX);
    for _ in 0..5 {
        assert!(session.get(b"absent", &mut Vec::new()).is_err());
    }
    l2.asked();
    // The nearest tier answers without the lower one, which is not asked.
    assert_eq!(get(session, "k"), Some(b"v".to_vec()));
    let error = session.get(b"absent", &mut Vec::new()).unwrap_err();
    assert!(error.is_not_made(), "{error}");
    assert_eq!(l2.asked(), Vec::<String>::new());
    assert!(!l1.asked().is_empty());
    assert_eq!(store.info().settings["l2.breaker"], "2,probe:1s");
}

#[test]
fn a_wrong_option_of_a_layer_is_refused_in_one_line() {
    for (options, message) in [
        ("breaker=0", "spy: option `breaker`: `0` is not a number of failures from 1 to 1000000"),
        ("retry=x", "spy: option `retry`: `x` is not a number of repetitions from 1 to 100"),
        ("compress=gzip", "spy: option `compress`: `gzip` is not zstd or lz4"),
        ("metrics=2", "spy: option `metrics`: `2` is not on or off; write metrics=on"),
        ("compres=zstd", "spy: unknown option `compres`"),
    ] {
        let error = open_layered(&format!("spy:/wrong?{options}")).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(message) && !text.contains('\n'), "{text}");
        assert!(error.is_usage());
    }
    // `off` is no layer, and a catalog without layers knows no such option.
    let store = open_layered("spy:/off?breaker=off&retry=off&compress=off&metrics=off").unwrap();
    assert!(!store.info().settings.contains_key("breaker"));
    let plain = catalog().open(&StoreUrl::parse("spy:/off?breaker=5").unwrap());
    assert!(plain.unwrap_err().to_string().contains("unknown option `breaker`"));
}

#[test]
fn a_stack_tells_the_counters_of_its_tiers_layers() {
    let tier = |n| metrics::layer(open(&format!("spy:/counted/{n}")), &metrics::Settings {}).0;
    let store = Tiers::new(vec![tier(1), tier(2)], &Config::default()).unwrap();
    let before = counter(&store, "read_calls");
    assert_eq!(get(&mut *store.session().unwrap(), "k"), None);
    assert_eq!(counter(&store, "read_calls"), before + 2, "one of each tier");
}
