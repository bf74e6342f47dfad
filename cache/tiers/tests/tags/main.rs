//! Tags in stacks over real stores. Each case has two stacks over the same stores, as two processes of a host have.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod model;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use larder_engines::ENGINES;
use larder_host::scratch::ScratchDir;
use larder_store::{
    Error, Fill, Leased, Leases, Put, Session, SetMode, SetOptions, Span, Store, StoreUrl,
};
use larder_testkit::{has_program, trial_where};
use larder_tiers::layer::metrics;
use larder_tiers::{Config, LoadOptions, Loaded, Tiers, TiersSession, WriteOrder};
use libtest_mimic::{Arguments, Trial};

const HOUR: Duration = Duration::from_hours(1);

/// A kind of stack: the URLs of its tiers, and how it writes. `mmap:` stands for a file of the test.
#[derive(Debug, Clone, Copy)]
struct Kind {
    name: &'static str,
    near: &'static str,
    far: &'static str,
    write: WriteOrder,
}

const fn kind(name: &'static str, near: &'static str, far: &'static str) -> Kind {
    Kind { name, near, far, write: WriteOrder::Through }
}

const KINDS: &[Kind] = &[
    kind("memory", "memory:", "memory:"),
    kind("memcached", "mmap:", "memcached:"),
    kind("redis", "mmap:", "redis:?ttl_left=on"),
    kind("no_leases", "moka:", "lmdb:"),
    kind("compressed_above", "memory:?compress=lz4:1", "memcached:?breaker=5&retry=1"),
    // This lowest tier cannot count.
    kind("compressed_below", "memory:", "memcached:?compress=zstd:1"),
    Kind { write: WriteOrder::Around, ..kind("around", "memory:", "memory:") },
    Kind { write: WriteOrder::Behind, ..kind("behind", "memory:", "memory:") },
];

const HERD: &str = "of_many_that_meet_an_entry_that_ended_one_loads";

const LEASES: &str = "of_many_leases_those_of_entries_that_ended_are_given";

const CALLS: &str = "many_entries_that_ended_take_a_few_calls";

type Case = (&'static str, fn(&Kind));

const CASES: &[Case] = &[
    ("entries_end_with_their_tag_for_every_read", reads),
    ("conditions_do_not_find_an_entry_that_ended", conditions),
    ("a_load_that_began_before_the_end_of_its_tag_stores_nothing_that_counts", load),
    (HERD, herd),
    (LEASES, many_leases),
    (CALLS, calls_of_a_batch),
    ("loaders_have_an_older_value_after_expire_tag", expire),
    ("a_clear_leaves_nothing_and_tags_go_on", clear),
    ("an_entry_that_is_over_is_gone_with_its_tag", over_and_ended),
    ("a_time_of_grace_of_no_whole_seconds_loads_under_a_lease", split_second),
];

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    let mut trials: Vec<Trial> = Vec::new();
    for kind in KINDS {
        // Without leases below, each process has a loader.
        let is_fit =
            |name: &str| kind.name != "no_leases" || ![HERD, LEASES, CALLS].contains(&name);
        for (name, run) in CASES.iter().filter(|(name, _)| is_fit(name)) {
            let scheme = kind.far.split(':').next().unwrap();
            let recipe = ENGINES.find(scheme).unwrap().recipes.first();
            let is_there = move || recipe.map_or(Ok(()), has_program);
            trials.push(trial_where(is_there, &format!("{}::{name}", kind.name), || run(kind)));
        }
    }
    trials.push(Trial::test("two_stacks_with_tags_answer_as_a_map_does", || {
        model::two_stacks_answer_as_a_map_does();
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn open(url: &str) -> Arc<dyn Store> {
    ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap()
}

/// Two stacks over the same stores.
struct Pair {
    stacks: [Tiers; 2],
    stores: [Arc<dyn Store>; 2],
    _folder: ScratchDir,
}

impl Pair {
    fn of(kind: &Kind, grace: Duration) -> Self {
        let folder = ScratchDir::create("tags").unwrap();
        let near = match kind.near {
            "mmap:" => format!("mmap:{}?size=1m", folder.path().join("l1").display()),
            near => near.to_owned(),
        };
        let (near, far) = (open(&near), open(kind.far));
        let config =
            Config { tags: true, grace: Span(grace), write: kind.write, ..Config::default() };
        let stacks = [(); 2]
            .map(|()| Tiers::new(vec![Arc::clone(&near), Arc::clone(&far)], &config).unwrap());
        Self { stacks, stores: [near, far], _folder: folder }
    }

    fn sessions(&self) -> [TiersSession; 2] {
        [0, 1].map(|i| self.stacks[i].open_session().unwrap())
    }

    fn leases(&self) -> bool {
        self.stacks[0].capabilities().leases
    }
}

fn put(session: &mut TiersSession, key: &[u8], value: &[u8], tags: &[&[u8]]) {
    let options = SetOptions::default();
    assert!(session.set_tagged(key, value, &options, tags).unwrap().is_stored());
    session.settle().unwrap();
}

fn get(session: &mut TiersSession, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    session.get(key, &mut value).unwrap().map(|_| value)
}

fn mode(mode: SetMode) -> SetOptions {
    SetOptions { mode, ..SetOptions::default() }
}

fn reads(kind: &Kind) {
    let pair = Pair::of(kind, Duration::ZERO);
    let [mut one, mut two] = pair.sessions();
    let long = [b'n'; 250];
    for round in 0..3 {
        put(&mut one, b"a", b"1", &[b"t"]);
        put(&mut one, b"b", b"2", &[&long, b"t", b"with space"]);
        put(&mut one, b"c", b"3", &[b"other"]);
        assert!(one.set(b"d", b"4", &SetOptions::default()).unwrap().is_stored());
        one.settle().unwrap();
        let keys: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
        let both = |session: &mut TiersSession, wanted: [bool; 4]| {
            let mut found = [false; 4];
            session
                .get_many(&keys, &mut |i, value, _| {
                    assert_eq!(value, (i + 1).to_string().as_bytes());
                    found[i] = true;
                })
                .unwrap();
            assert_eq!(found, wanted, "{round}");
            let mut value = Vec::new();
            for (key, wanted) in keys.iter().zip(wanted) {
                assert_eq!(get(session, key).is_some(), wanted, "{round}");
                assert_eq!(
                    session.look(key).unwrap().map(|facts| facts.value_len),
                    wanted.then_some(1)
                );
                assert_eq!(session.lookup(key, &mut value).unwrap().found.is_some(), wanted);
            }
        };
        both(&mut one, [true; 4]);
        both(&mut two, [true; 4]);
        // Any of its tags ends an entry.
        let ended: &[u8] = if round == 1 { &long } else { b"t" };
        two.delete_tag(ended).unwrap();
        both(&mut two, [round == 1, false, true, true]);
        both(&mut one, [round == 1, false, true, true]);
        if pair.leases() {
            let mut value = Vec::new();
            let leased = one.get_or_lease(b"b", &mut value, HOUR).unwrap();
            assert!(matches!(leased, Leased::Load { stale: None, .. }), "{leased:?}");
            let leased = two.get_or_lease(b"b", &mut value, HOUR).unwrap();
            assert!(matches!(leased, Leased::Wait { stale: None }), "{leased:?}");
        }
        one.delete_tag(b"t").unwrap();
        one.delete_tag(b"never used").unwrap();
    }
}

fn conditions(kind: &Kind) {
    let pair = Pair::of(kind, Duration::ZERO);
    let [mut one, mut two] = pair.sessions();
    let able = pair.stacks[0].capabilities();
    let mut ended = |session: &mut TiersSession, tag: &[u8]| {
        put(&mut one, b"k", b"old", &[tag]);
        assert_eq!(get(session, b"k"), Some(b"old".to_vec()));
        one.delete_tag(tag).unwrap();
    };
    ended(&mut two, b"a");
    assert!(!two.set(b"k", b"new", &mode(SetMode::Replace)).unwrap().is_stored());
    if able.touch {
        ended(&mut two, b"b");
        assert!(!two.touch(b"k", None).unwrap());
    }
    if able.get_and_touch {
        ended(&mut two, b"c");
        assert!(two.get_and_touch(b"k", None, &mut Vec::new()).unwrap().is_none());
        put(&mut two, b"k", b"live", &[b"c"]);
        let mut value = Vec::new();
        assert!(two.get_and_touch(b"k", None, &mut value).unwrap().is_some());
        assert_eq!(value, b"live");
    }
    ended(&mut two, b"d");
    assert!(two.set(b"k", b"new", &mode(SetMode::Add)).unwrap().is_stored());
    assert!(!two.set(b"k", b"newer", &mode(SetMode::Add)).unwrap().is_stored());
    assert_eq!(get(&mut two, b"k"), Some(b"new".to_vec()));
    let [mut one, _] = pair.sessions();
    assert_eq!(get(&mut one, b"k"), Some(b"new".to_vec()));
}

/// Loads a key with a tag. Tells whether it loaded, and the value.
fn ask(
    session: &mut TiersSession,
    meanwhile: impl FnOnce() -> Result<&'static [u8], Error>,
) -> (bool, Option<Vec<u8>>) {
    let (mut value, mut has_loaded) = (Vec::new(), false);
    let options = LoadOptions { wait: HOUR, lease: HOUR, tags: &[b"t"], ..LoadOptions::default() };
    let answer = session.get_or_load::<Error>(b"k", &mut value, &options, |value| {
        has_loaded = true;
        value.extend_from_slice(meanwhile()?);
        Ok(Loaded::Value)
    });
    (has_loaded, answer.ok().flatten().map(|_| value))
}

/// A loader that fails.
fn failure() -> Result<&'static [u8], Error> {
    Err(Error::Unavailable { engine: "loader", what: "down".into(), source: None })
}

fn load(kind: &Kind) {
    let pair = Pair::of(kind, Duration::ZERO);
    let [mut one, mut two] = pair.sessions();
    for by_many in [false, true] {
        let mut end = || {
            two.delete_tag(b"t").unwrap();
            Ok(&b"before"[..])
        };
        if by_many {
            let options = LoadOptions { tags: &[b"t"], ..LoadOptions::default() };
            let mut n_found = 0;
            one.get_or_load_many::<Error>(
                &[b"k"],
                &options,
                &mut |_, value, _| n_found += usize::from(value == b"before"),
                &mut |places, give| {
                    let value = end()?;
                    for place in places {
                        give(*place, value, Loaded::Value);
                    }
                    Ok(())
                },
            )
            .unwrap();
            assert_eq!(n_found, 1);
        } else {
            assert_eq!(ask(&mut one, end), (true, Some(b"before".to_vec())));
        }
        assert_eq!(get(&mut one, b"k"), None);
        assert_eq!(get(&mut two, b"k"), None);
        let after = |session: &mut TiersSession| ask(session, || Ok(&b"after"[..]));
        assert_eq!(after(&mut one), (true, Some(b"after".to_vec())));
        assert_eq!(after(&mut two), (false, Some(b"after".to_vec())));
        two.delete_tag(b"t").unwrap();
    }
}

fn many_leases(kind: &Kind) {
    let pair = Pair::of(kind, Duration::ZERO);
    let [mut one, mut two] = pair.sessions();
    put(&mut one, b"a", b"1", &[b"t"]);
    put(&mut one, b"b", b"2", &[b"u", b"t"]);
    put(&mut one, b"c", b"3", &[b"u"]);
    put(&mut one, b"d", b"4", &[]);
    one.delete_tag(b"t").unwrap();
    let keys: [&[u8]; 5] = [b"a", b"b", b"c", b"d", b"absent"];
    let ask = |session: &mut TiersSession| {
        let mut answers = vec![None; keys.len()];
        session
            .get_or_lease_many(&keys, HOUR, Duration::ZERO, &mut |i, value, leased| {
                assert!(answers[i].is_none(), "{i} has two answers");
                answers[i] = Some((value.to_vec(), leased.unwrap()));
            })
            .unwrap();
        answers.into_iter().map(Option::unwrap).collect::<Vec<_>>()
    };
    let (first, second) = (ask(&mut two), ask(&mut one));
    for i in [0, 1, 4] {
        assert!(matches!(first[i].1, Leased::Load { stale: None, .. }), "{i}: {first:?}");
        assert!(matches!(second[i].1, Leased::Wait { stale: None }), "{i}: {second:?}");
    }
    for (i, value) in [(2, b"3"), (3, b"4")] {
        for (got, leased) in [&first[i], &second[i]] {
            assert!(got == value && matches!(leased, Leased::Hit(_)), "{first:?} {second:?}");
        }
    }
    // The values of these leases have no tags.
    let put = |i: usize| Put { key: keys[i], value: b"new", options: SetOptions::default() };
    let fills = [0, 1, 4].map(|i| match first[i].1 {
        Leased::Load { token, .. } => Fill { put: put(i), token },
        other => panic!("{other:?}"),
    });
    let mut n_stored = 0;
    two.fill_many(&fills, &mut |_, done| n_stored += usize::from(done.unwrap().is_stored()))
        .unwrap();
    assert_eq!(n_stored, 3);
    one.delete_tag(b"t").unwrap();
    one.delete_tag(b"u").unwrap();
    let found = keys.map(|key| get(&mut one, key));
    let new = || Some(b"new".to_vec());
    assert_eq!(found, [new(), new(), None, Some(b"4".to_vec()), new()]);
}

fn calls_of_a_batch(kind: &Kind) {
    for grace in [Duration::ZERO, HOUR] {
        let pair = Pair::of(kind, grace);
        let (far, metrics) = metrics::layer(Arc::clone(&pair.stores[1]), &metrics::Settings {});
        let config =
            Config { tags: true, grace: Span(grace), write: kind.write, ..Config::default() };
        let stack = Tiers::new(vec![Arc::clone(&pair.stores[0]), far], &config).unwrap();
        let mut session = stack.open_session().unwrap();
        let names: Vec<_> = (0..100).map(|i| format!("key{i}")).collect();
        let keys: Vec<_> = names.iter().map(String::as_bytes).collect();
        let [mut one, _] = pair.sessions();
        for key in &keys {
            put(&mut one, key, b"value", &[b"t"]);
        }
        if grace.is_zero() { one.delete_tag(b"t") } else { one.expire_tag(b"t") }.unwrap();
        let mut calls_of = |keys: &[&[u8]]| {
            let count = || metrics.snapshot().iter().map(metrics::Calls::count).sum::<u64>();
            let before = count();
            let mut n_given = 0;
            let ask = session.get_or_lease_many(keys, HOUR, Duration::ZERO, &mut |_, _, leased| {
                n_given += usize::from(matches!(leased, Ok(Leased::Load { .. })));
            });
            ask.unwrap();
            assert_eq!(n_given, keys.len(), "each of them ended");
            count() - before
        };
        // A copy of the counter above may be dropped meanwhile, so that it is asked for again.
        let (one, many) = (calls_of(&keys[..1]), calls_of(&keys[1..]));
        assert!(many < 50, "{many} calls for 99 keys, {one} for one");
    }
}

fn herd(kind: &Kind) {
    let pair = Pair::of(kind, Duration::ZERO);
    for round in 0..3 {
        let [mut one, _] = pair.sessions();
        put(&mut one, b"k", b"old", &[b"t"]);
        one.delete_tag(b"t").unwrap();
        let n_loads = AtomicUsize::new(0);
        thread::scope(|scope| {
            for i in 0..8 {
                let (stack, n_loads) = (&pair.stacks[i % 2], &n_loads);
                scope.spawn(move || {
                    let mut session = stack.open_session().unwrap();
                    let (_, value) = ask(&mut session, || {
                        n_loads.fetch_add(1, Ordering::SeqCst);
                        // The others come meanwhile.
                        thread::sleep(Duration::from_millis(50));
                        Ok(b"new")
                    });
                    assert_eq!(value, Some(b"new".to_vec()));
                });
            }
        });
        assert_eq!(n_loads.load(Ordering::SeqCst), 1, "{round}");
    }
}

fn expire(kind: &Kind) {
    let pair = Pair::of(kind, HOUR);
    let [mut one, mut two] = pair.sessions();
    // A tier that cannot count ends the entries.
    let counts = !kind.far.contains("compress");
    put(&mut one, b"k", b"old", &[b"t"]);
    assert_eq!(get(&mut two, b"k"), Some(b"old".to_vec()));
    for _ in 0..2 {
        one.expire_tag(b"t").unwrap();
        assert_eq!(get(&mut two, b"k"), None);
        assert_eq!(get(&mut one, b"k"), None);
        let older = counts.then(|| b"old".to_vec());
        assert_eq!(ask(&mut two, failure), (true, older));
    }
    assert_eq!(ask(&mut two, || Ok(&b"new"[..])), (true, Some(b"new".to_vec())));
    assert_eq!(get(&mut one, b"k"), Some(b"new".to_vec()));
    one.expire_tag(b"t").unwrap();
    one.delete_tag(b"t").unwrap();
    assert_eq!(ask(&mut two, failure), (true, None));
}

/// An expired entry is kept for loaders, and is gone with its tag all the same.
fn over_and_ended(kind: &Kind) {
    let mut pair = Pair::of(kind, HOUR);
    // What a stack without a time of grace stores for half an hour has expired for the other.
    let [near, far] = pair.stores.each_ref().map(Arc::clone);
    let short = Config { tags: true, ..Config::default() };
    pair.stacks[0] = Tiers::new(vec![near, far], &short).unwrap();
    let [mut one, mut two] = pair.sessions();
    let options = SetOptions { ttl: Some(HOUR / 2), ..SetOptions::default() };
    for ends in [false, true] {
        assert!(one.set_tagged(b"k", b"old", &options, &[b"t"]).unwrap().is_stored());
        if ends {
            one.delete_tag(b"t").unwrap();
        }
        let older = (!ends).then(|| b"old".to_vec());
        assert_eq!(ask(&mut two, failure), (true, older), "{ends}");
        if pair.leases() {
            let mut lease = || two.get_or_lease(b"k", &mut Vec::new(), HOUR).unwrap();
            let (first, second) = (lease(), lease());
            let Leased::Load { token, stale } = first else { panic!("{first:?}") };
            let Leased::Wait { stale: waits_with } = second else { panic!("{second:?}") };
            assert_eq!([stale, waits_with].map(|stale| stale.is_some()), [!ends; 2], "{ends}");
            assert!(two.release(b"k", &token).unwrap());
        }
    }
}

/// A tier with whole seconds keeps an entry for longer than a shorter time of grace.
fn split_second(kind: &Kind) {
    for millis in [100, 1500] {
        let pair = Pair::of(kind, Duration::from_millis(millis));
        let [mut one, mut two] = pair.sessions();
        put(&mut one, b"k", b"old", &[b"t"]);
        one.expire_tag(b"t").unwrap();
        let (has_loaded, value) = ask(&mut two, || Ok(&b"new"[..]));
        assert_eq!((has_loaded, value.as_deref()), (true, Some(&b"new"[..])), "{millis}");
        two.settle().unwrap();
        let (mut below, mut stored) = (pair.stores[1].session().unwrap(), Vec::new());
        assert!(below.get(b"k", &mut stored).unwrap().is_some(), "{millis}");
        assert!(stored.starts_with(b"new"), "{millis}: it is loaded without a lease");
    }
}

fn clear(kind: &Kind) {
    let pair = Pair::of(kind, Duration::ZERO);
    let [mut one, mut two] = pair.sessions();
    put(&mut one, b"k", b"old", &[b"t"]);
    one.clear().unwrap();
    assert_eq!(get(&mut two, b"k"), None);
    put(&mut two, b"k", b"new", &[b"t"]);
    assert_eq!(get(&mut one, b"k"), Some(b"new".to_vec()));
    one.delete_tag(b"t").unwrap();
    assert_eq!(get(&mut two, b"k"), None);
}
