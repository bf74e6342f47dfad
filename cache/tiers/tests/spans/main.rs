//! The spans of stacks and stores, as a tracer provider gets them. The lowest tier is a real memcached.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use larder_engines::ENGINES;
use larder_store::{Error, Fill, Leased, Leases as _, SetOptions, Store, StoreUrl};
use larder_testkit::{MEMCACHED, Memcached, get, has_program, set, trial, trial_where};
use larder_tiers::layer::spans;
use larder_tiers::{Config, LoadOptions, Loaded, Tiers};
use libtest_mimic::{Arguments, Trial};
use opentelemetry::trace::{SpanId, SpanKind, Status, TraceContextExt as _, TraceId, Tracer as _};
use opentelemetry::{Context, global};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};

const MINUTE: Duration = Duration::from_mins(1);

fn main() -> ExitCode {
    let trials = vec![
        on_memcached("a_read_shows_which_tier_answered", a_read_shows_which_tier_answered),
        on_memcached(
            "writes_and_batches_tell_their_tiers_and_counts",
            writes_and_batches_tell_their_tiers_and_counts,
        ),
        on_memcached(
            "a_loader_is_a_child_of_the_read_that_loads",
            a_loader_is_a_child_of_the_read_that_loads,
        ),
        on_memcached(
            "batches_of_leases_are_one_span_a_tier",
            batches_of_leases_are_one_span_a_tier,
        ),
        trial(
            "the_counters_of_tags_are_calls_below_that_of_the_entry",
            the_counters_of_tags_are_calls_below_that_of_the_entry,
        ),
        on_memcached(
            "a_read_tells_that_it_waited_for_the_load_of_another",
            a_read_tells_that_it_waited_for_the_load_of_another,
        ),
        on_memcached(
            "a_dead_tier_is_an_error_of_its_own_span",
            a_dead_tier_is_an_error_of_its_own_span,
        ),
        trial(
            "the_option_of_a_url_asks_for_spans_of_any_store_and_of_stacks",
            the_option_of_a_url_asks_for_spans_of_any_store_and_of_stacks,
        ),
        trial(
            "a_tier_makes_no_span_that_no_call_has_caused",
            a_tier_makes_no_span_that_no_call_has_caused,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A trial whose lowest tier is a memcached.
fn on_memcached(name: &str, run: fn()) -> Trial {
    trial_where(|| has_program(&MEMCACHED), name, run)
}

/// The only tracer provider of this process, and all spans of all tests.
fn exporter() -> &'static InMemorySpanExporter {
    static EXPORTER: OnceLock<InMemorySpanExporter> = OnceLock::new();
    EXPORTER.get_or_init(|| {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        global::set_tracer_provider(provider);
        exporter
    })
}

/// A span and those below it, in the order of their beginning.
#[derive(Debug)]
struct Tree {
    span: SpanData,
    children: Vec<Self>,
}

impl Tree {
    fn attribute(&self, name: &str) -> Option<String> {
        let found = self.span.attributes.iter().find(|attribute| attribute.key.as_str() == name);
        found.map(|attribute| attribute.value.to_string())
    }

    /// The names, indented by two blanks a level; tiers and hits with them.
    fn shown(&self) -> String {
        let mut shown = self.span.name.to_string();
        for (name, short) in
            [("larder.tier", " L"), ("cache.hit", " hit="), ("error.type", " error=")]
        {
            if let Some(value) = self.attribute(name) {
                shown.push_str(&[short, &value].concat());
            }
        }
        let below = self.children.iter().flat_map(|child| {
            let lines: Vec<_> = child.shown().lines().map(|line| format!("\n  {line}")).collect();
            lines
        });
        shown + &below.collect::<String>()
    }
}

fn trees(spans: &[SpanData], parent: SpanId) -> Vec<Tree> {
    let mut children: Vec<_> = spans.iter().filter(|span| span.parent_span_id == parent).collect();
    children.sort_by_key(|span| span.start_time);
    let tree = |span: &SpanData| Tree {
        span: span.clone(),
        children: trees(spans, span.span_context.span_id()),
    };
    children.into_iter().map(tree).collect()
}

/// The spans of one trace.
fn of_trace(trace: TraceId) -> Vec<SpanData> {
    let spans = exporter().get_finished_spans().unwrap();
    spans.into_iter().filter(|span| span.span_context.trace_id() == trace).collect()
}

/// Runs calls within a span, and returns the spans that they made below it.
fn traced(calls: impl FnOnce()) -> Vec<Tree> {
    exporter();
    let context = Context::current_with_span(global::tracer("test").start("test"));
    let root = context.span().span_context().clone();
    let guard = context.attach();
    calls();
    drop(guard);
    trees(&of_trace(root.trace_id()), root.span_id())
}

fn shown(trees: &[Tree]) -> String {
    trees.iter().map(Tree::shown).collect::<Vec<_>>().join("\n")
}

/// A stack over a memcached; the memcached alone; and itself.
fn over_memcached(options: &str) -> (Tiers, Arc<dyn Store>, Memcached) {
    exporter();
    let memcached = Memcached::start();
    let open = |url: &str| ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap();
    let lowest = format!("memcached://{}?timeout=5s", memcached.address());
    let [near, far, beside] = [open("memory:"), open(&lowest), open(&lowest)];
    let config = Config { spans: options.parse().unwrap(), ..Config::default() };
    (Tiers::new(vec![near, far], &config).unwrap(), beside, memcached)
}

fn a_read_shows_which_tier_answered() {
    let (stack, beside, memcached) = over_memcached("on");
    set(&mut *beside.session().unwrap(), "k", b"value", None);
    let mut session = stack.session().unwrap();
    let read = traced(|| {
        assert!(get(&mut *session, "k").is_some());
        assert!(get(&mut *session, "k").is_some());
        assert!(get(&mut *session, "absent").is_none());
    });
    let expected = "\
cache.get hit=true
  cache.get L1 hit=false
  cache.get L2 hit=true
  cache.put L1
cache.get hit=true
  cache.get L1 hit=true
cache.get hit=false
  cache.get L1 hit=false
  cache.get L2 hit=false";
    assert_eq!(shown(&read), expected);
    let [near, far, fill] = &read[0].children[..] else { panic!("{read:?}") };
    let of = |tree: &Tree, name: &str| tree.attribute(name).unwrap_or_default();
    assert_eq!(of(&read[0], "db.system.name"), "tiered");
    assert_eq!([near, fill].map(|it| of(it, "db.system.name")), ["memory", "memory"]);
    assert_eq!(of(far, "db.system.name"), "memcached");
    assert_eq!(of(far, "db.operation.name"), "get");
    assert_eq!(of(far, "network.peer.address"), "127.0.0.1");
    assert_eq!(of(far, "network.peer.port"), memcached.port.to_string());
    assert_eq!(of(far, "cache.item_size"), "5");
    assert_eq!(near.attribute("cache.item_size"), None, "a miss has no value");
    assert_eq!(
        [near, far].map(|it| it.span.span_kind.clone()),
        [SpanKind::Internal, SpanKind::Client]
    );
    // Keys may be personal.
    assert!(!format!("{read:?}").contains("cache.key"));
}

fn writes_and_batches_tell_their_tiers_and_counts() {
    let (stack, _, _memcached) = over_memcached("keys");
    let mut session = stack.session().unwrap();
    let options = SetOptions::default();
    let made = traced(|| {
        set(&mut *session, "a", b"123", None);
        session.get_many(&[b"a", b"b"], &mut |_, _, _| {}).unwrap();
        assert!(session.delete(b"a").unwrap());
        assert!(session.get(&[b'k'; 300], &mut Vec::new()).is_err());
        let puts = [b"x", b"y"].map(|key| larder_store::Put { key, value: b"12", options });
        session.set_many(&puts, &mut |_, _| {}).unwrap();
    });
    let expected = "\
cache.put
  cache.put L2
  cache.put L1
cache.get hit=false
  cache.get L1 hit=false
  cache.get L2 hit=false
cache.remove
  cache.remove L2
  cache.remove L1
cache.get error=key_too_long
  cache.get L2 error=key_too_long
cache.put
  cache.put L2
  cache.put L1
  cache.put L1";
    assert_eq!(shown(&made), expected);
    let of = |tree: &Tree, name: &str| tree.attribute(name).unwrap_or_default();
    let batch = &made[1];
    assert_eq!(of(batch, "db.operation.batch.size"), "2");
    assert_eq!(of(batch, "larder.hits"), "1");
    assert_eq!(of(batch, "cache.key"), r#"["a","b"]"#);
    assert_eq!(of(&batch.children[0], "larder.hits"), "1");
    assert_eq!(of(&batch.children[1], "cache.key"), r#"["b"]"#);
    assert_eq!(of(&made[0], "cache.item_size"), "3");
    assert_eq!(of(&made[2], "larder.done"), "true");
    let many = made.last().unwrap();
    assert_eq!(of(many, "db.operation.name"), "set_many");
    assert_eq!(of(many, "cache.item_size"), "4");
}

fn a_loader_is_a_child_of_the_read_that_loads() {
    let (stack, _, _memcached) = over_memcached("on");
    let mut session = stack.open_session().unwrap();
    let (mut value, options) = (Vec::new(), LoadOptions::default());
    let made = traced(|| {
        let load = |value: &mut Vec<u8>| {
            drop(global::tracer("test").start("database"));
            value.extend_from_slice(b"loaded");
            Ok::<_, Error>(Loaded::Value)
        };
        session.get_or_load(b"k", &mut value, &options, load).unwrap();
        session.get_or_load(b"k", &mut value, &options, load).unwrap();
        let fails = |_: &mut Vec<u8>| {
            let what = "the database is gone".to_owned();
            Err(Error::Unavailable { engine: "test", what, source: None })
        };
        session.get_or_load(b"other", &mut value, &options, fails).unwrap_err();
        let keys: [&[u8]; 3] = [b"k", b"1", b"2"];
        session
            .get_or_load_many(&keys, &options, &mut |_, _, _| {}, &mut |places, give| {
                for place in places {
                    give(*place, b"v", Loaded::Value);
                }
                Ok::<_, Error>(())
            })
            .unwrap();
    });
    let of = |tree: &Tree, name: &str| tree.attribute(name).unwrap_or_default();
    assert!(made.iter().all(|tree| tree.span.name == "cache.get_or_load"), "{}", shown(&made));
    let loaders =
        |tree: &Tree| tree.children.iter().filter(|child| child.span.name == "cache.load").count();
    assert_eq!(made.iter().map(loaders).collect::<Vec<_>>(), [1, 0, 1, 1], "{}", shown(&made));
    let origins: Vec<_> = made.iter().take(3).map(|tree| of(tree, "larder.origin")).collect();
    assert_eq!(origins, ["loader", "L1", "none"]);
    let waited: Vec<_> = made.iter().map(|tree| of(tree, "larder.waited")).collect();
    assert_eq!(waited, ["false"; 4]);
    let find = |tree: &Tree| {
        let place = tree.children.iter().position(|child| child.span.name == "cache.load");
        place.unwrap()
    };
    let loader = &made[0].children[find(&made[0])];
    assert_eq!(shown(&loader.children), "database");
    assert_eq!(of(loader, "cache.item_size"), "6");
    // The value is stored in both tiers after the loader, and within the read.
    let stored = shown(&made[0].children[find(&made[0]) + 1..]);
    assert!(stored.contains("cache.put L2") && stored.contains("cache.put L1"), "{stored}");
    let failed = &made[2].children[find(&made[2])];
    assert_eq!(of(failed, "error.type"), "_OTHER");
    assert!(matches!(made[2].span.status, Status::Error { .. }));
    assert_eq!(of(&made[3], "larder.hits"), "1");
    assert_eq!(of(&made[3], "larder.loaded"), "2");
    let loader = &made[3].children[find(&made[3])];
    assert_eq!([of(loader, "db.operation.batch.size"), of(loader, "larder.loaded")], ["2", "2"]);
}

fn batches_of_leases_are_one_span_a_tier() {
    let (stack, _, _memcached) = over_memcached("keys");
    let mut session = stack.open_session().unwrap();
    set(&mut session, "there", b"v", None);
    let keys: [&[u8]; 3] = [b"there", b"1", b"2"];
    let made = traced(|| {
        let mut held = Vec::new();
        session
            .get_or_lease_many(&keys, MINUTE, Duration::ZERO, &mut |i, _, leased| {
                if let Leased::Load { token, .. } = leased.unwrap() {
                    held.push((keys[i], token));
                }
            })
            .unwrap();
        let (key, token) = held[0];
        let put = larder_store::Put { key, value: b"12", options: SetOptions::default() };
        session.fill_many(&[Fill { put, token }], &mut |_, _| {}).unwrap();
        session.release_many(&held[1..], &mut |_, _| {}).unwrap();
    });
    let expected = "\
cache.get hit=false
  cache.get L1 hit=false
  cache.get L2 hit=false
cache.put
  cache.put L2
  cache.put L1
cache.release
  cache.release L2";
    assert_eq!(shown(&made), expected);
    let of = |tree: &Tree, name: &str| tree.attribute(name).unwrap_or_default();
    assert_eq!([of(&made[0], "larder.hits"), of(&made[0], "db.operation.batch.size")], ["1", "3"]);
    let below = &made[0].children[1];
    assert_eq!([of(below, "larder.hits"), of(below, "cache.key")], ["0", r#"["1","2"]"#]);
    assert_eq!([of(&made[1], "cache.item_size"), of(&made[1], "cache.key")], ["2", r#"["1"]"#]);
    assert_eq!(of(&made[2].children[0], "cache.key"), r#"["2"]"#);
}

fn the_counters_of_tags_are_calls_below_that_of_the_entry() {
    exporter();
    let open = |url: &str| ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap();
    let config = Config { tags: true, spans: spans::Settings::On, ..Config::default() };
    let stack = Tiers::new(vec![open("memory:"), open("memory:")], &config).unwrap();
    let mut session = stack.open_session().unwrap();
    let made = traced(|| {
        session.set_tagged(b"k", b"v", &SetOptions::default(), &[b"t"]).unwrap();
        assert!(get(&mut session, "k").is_some());
        session.delete_tag(b"t").unwrap();
    });
    let shown: Vec<_> = made.iter().map(Tree::shown).collect();
    let [put, read, end] = &shown[..] else { panic!("{shown:?}") };
    assert!(put.starts_with("cache.put\n  cache.get L2 hit=false\n"), "{put}");
    assert_eq!(read, "cache.get hit=true\n  cache.get L1 hit=true\n  cache.get L1 hit=true");
    assert_eq!(end, "cache.remove\n  cache.increment L2\n  cache.remove L1");
    assert_eq!(made[2].attribute("db.operation.name").as_deref(), Some("delete_tag"));
}

fn a_read_tells_that_it_waited_for_the_load_of_another() {
    let (stack, beside, _memcached) = over_memcached("on");
    // Another host loads the key.
    let mut other = beside.session().unwrap();
    let leases = other.leases().unwrap();
    let leased = leases.get_or_lease(b"k", &mut Vec::new(), MINUTE).unwrap();
    let Leased::Load { token, .. } = leased else { panic!("{leased:?}") };
    let mut session = stack.open_session().unwrap();
    let (mut value, options) = (Vec::new(), LoadOptions { wait: MINUTE, ..LoadOptions::default() });
    let n_waits = || {
        let counters = stack.counters().unwrap();
        counters.iter().filter(|it| it.name.contains("wait")).map(|it| it.value).sum::<u64>()
    };
    let made = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            traced(|| {
                let load = |_: &mut Vec<u8>| -> Result<Loaded, Error> { panic!("it is loaded") };
                session.get_or_load(b"k", &mut value, &options, load).unwrap();
            })
        });
        while n_waits() == 0 {
            thread::yield_now();
        }
        leases.fill(b"k", b"v", &SetOptions::default(), &token).unwrap();
        reader.join().unwrap()
    });
    let attributes = |tree: &Tree| {
        ["larder.waited", "larder.origin", "cache.hit"].map(|it| tree.attribute(it).unwrap())
    };
    assert_eq!(attributes(&made[0]), ["true", "L2", "true"]);
}

fn a_dead_tier_is_an_error_of_its_own_span() {
    let (stack, _, memcached) = over_memcached("on");
    let mut session = stack.session().unwrap();
    get(&mut *session, "k");
    drop(memcached);
    let made = traced(|| assert!(get(&mut *session, "k").is_none()));
    let [near, far] = &made[0].children[..] else { panic!("{}", shown(&made)) };
    assert_eq!(made[0].attribute("error.type"), None, "a failure is a miss of the stack");
    assert_eq!(near.attribute("error.type"), None);
    let kind = far.attribute("error.type").unwrap();
    assert!(["io", "unavailable"].contains(&&*kind), "{kind}");
    assert!(matches!(far.span.status, Status::Error { .. }), "{:?}", far.span.status);
    assert_eq!(far.attribute("cache.hit"), None, "nobody knows");
}

fn the_option_of_a_url_asks_for_spans_of_any_store_and_of_stacks() {
    let catalog = ENGINES;
    let open = |url: &str| catalog.open(&StoreUrl::parse(url).unwrap()).unwrap();
    for (url, expected) in [
        ("memory:", ""),
        ("memory:?spans=off", ""),
        ("memory:?spans=on", "cache.get hit=false"),
        ("memory:?spans=on&metrics=on&retry=2", "cache.get hit=false"),
        ("tiered:memory:|memory:", ""),
        ("tiered:memory:|memory:?spans=on|?l1_ttl=5s", "cache.get hit=false"),
        (
            "tiered:memory:|memory:|?l1_ttl=5s&spans=on",
            "cache.get hit=false\n  cache.get L1 hit=false\n  cache.get L2 hit=false",
        ),
    ] {
        let made = traced(|| {
            get(&mut *open(url).session().unwrap(), "k");
        });
        assert_eq!(shown(&made), expected, "{url}");
    }
    let error = catalog.open(&StoreUrl::parse("memory:?spans=yes").unwrap()).unwrap_err();
    assert!(error.to_string().contains("`yes` is not on, keys or off"), "{error}");
    let told = open("tiered:memory:|memory:|?spans=keys").info().settings;
    let of: BTreeMap<_, _> = told.iter().filter(|(name, _)| name.contains("spans")).collect();
    assert_eq!(of.len(), 3, "{of:?}");
    let layered = spans::layer(open("memory:"), spans::Settings::On);
    assert_eq!(layered.info().settings["spans"], "on");
}

fn a_tier_makes_no_span_that_no_call_has_caused() {
    exporter();
    let behind =
        ENGINES.open(&StoreUrl::parse("tiered:memory:|memory:|?spans=on&write=behind").unwrap());
    let behind = behind.unwrap();
    let made = traced(|| set(&mut *behind.session().unwrap(), "late", b"v", None));
    behind.session().unwrap().settle().unwrap();
    // The thread that writes below has no span around it, and would make one of its own.
    let tiers: Vec<_> = made[0].children.iter().map(|it| it.attribute("larder.tier")).collect();
    let is_near = |tier: &Option<String>| tier.as_deref() == Some("1");
    assert!(!tiers.is_empty() && tiers.iter().all(is_near), "{}", shown(&made));
    let spans = exporter().get_finished_spans().unwrap();
    let is_root_of_a_tier = |span: &SpanData| {
        let is_tier = span.attributes.iter().any(|it| it.key.as_str() == "larder.tier");
        is_tier && span.parent_span_id == SpanId::INVALID
    };
    assert!(!spans.iter().any(is_root_of_a_tier));
}
