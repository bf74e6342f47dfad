//! `larder serve --traces`: what a collector of OpenTelemetry gets, and what a dead one costs.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use larder_testkit::Memcached;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::serve::Serving;
use crate::{Case, MEMCACHED, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (MEMCACHED, "spans_of_a_stack_tell_which_tier_answered", stacked),
    (MEMCACHED, "the_span_of_a_tier_that_fails_tells_its_error", failed),
    (NOTHING, "each_request_has_a_root_span_of_its_own", alone),
    (NOTHING, "the_environment_names_the_collector_and_the_service_too", from_environment),
    (NOTHING, "a_share_of_the_requests_has_spans", sampled),
    (NOTHING, "a_dead_collector_fails_no_request_and_is_told_once", dead),
    (NOTHING, "a_collector_that_hangs_holds_nothing_up", hanging),
];

const LARDER: &str = env!("CARGO_BIN_EXE_larder");

/// A collector: it keeps all that it gets.
struct Collector {
    address: String,
    requests: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let kept = Arc::clone(&requests);
        thread::spawn(move || {
            for socket in listener.incoming() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || take(socket.unwrap(), &kept));
            }
        });
        Self { address, requests }
    }

    /// The name of the service, and all spans.
    fn spans(&self) -> (Vec<String>, Vec<Span>) {
        let (mut services, mut spans) = (Vec::new(), Vec::new());
        for resource in self.requests.lock().unwrap().iter().flat_map(|it| &it.resource_spans) {
            let attributes = &resource.resource.as_ref().unwrap().attributes;
            services.push(attribute(attributes, "service.name").unwrap());
            spans.extend(resource.scope_spans.iter().flat_map(|it| it.spans.clone()));
        }
        spans.sort_by_key(|span| span.start_time_unix_nano);
        services.dedup();
        (services, spans)
    }
}

/// Takes the requests of one connection.
fn take(mut socket: TcpStream, kept: &Mutex<Vec<ExportTraceServiceRequest>>) {
    let mut input = BufReader::new(socket.try_clone().unwrap());
    loop {
        let (mut len, mut first) = (0, String::new());
        loop {
            let mut line = String::new();
            if input.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.trim_end().is_empty() {
                break;
            }
            if first.is_empty() {
                first.clone_from(&line);
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                len = value.trim().parse().unwrap();
            }
        }
        assert!(first.starts_with("POST /v1/traces "), "{first}");
        let mut body = vec![0; len];
        input.read_exact(&mut body).unwrap();
        kept.lock().unwrap().push(ExportTraceServiceRequest::decode(&body[..]).unwrap());
        let answer =
            b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";
        socket.write_all(answer).unwrap();
    }
}

fn attribute(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == name)?;
    Some(match found.value.clone()?.value? {
        any_value::Value::StringValue(text) => text,
        any_value::Value::BoolValue(is) => is.to_string(),
        any_value::Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}

/// A span and those below it: its name, its tier and its answer.
fn shown(spans: &[Span], parent: &[u8], depth: usize) -> String {
    let mut shown = String::new();
    for span in spans.iter().filter(|span| span.parent_span_id == parent) {
        let told = |name: &str| attribute(&span.attributes, name);
        let tier = told("larder.tier").map(|tier| format!(" L{tier}")).unwrap_or_default();
        let hit = told("cache.hit").map(|hit| format!(" hit={hit}")).unwrap_or_default();
        writeln!(shown, "{}{}{tier}{hit}", "  ".repeat(depth), span.name).unwrap();
        shown += &self::shown(spans, &span.span_id, depth + 1);
    }
    shown
}

fn serve(collector: &str, more: &[&str]) -> Serving {
    let arguments = [&["serve", "-p", "0", "--traces", collector], more].concat();
    Serving::start(LARDER.as_ref(), &arguments)
}

fn stacked() {
    let (collector, memcached) = (Collector::start(), Memcached::start());
    let mut socket = TcpStream::connect(memcached.address()).unwrap();
    socket.write_all(b"set k 0 0 5\r\nvalue\r\nquit\r\n").unwrap();
    socket.read_to_end(&mut Vec::new()).unwrap();
    let url = format!("tiered:memory:?size=8m|memcached://{}?timeout=5s", memcached.address());
    let serving = serve(&collector.address, &[&url]);
    assert_eq!(serving.ask("get k\r\n"), "VALUE k 0 5\r\nvalue\r\nEND\r\n");
    assert_eq!(serving.ask("get k\r\n"), "VALUE k 0 5\r\nvalue\r\nEND\r\n");
    assert_eq!(serving.ask("set k 0 0 1\r\nx\r\n"), "STORED\r\n");
    assert_eq!(serving.end(libc::SIGTERM), (Some(0), String::new()));
    let (services, spans) = collector.spans();
    assert_eq!(services, ["larder"]);
    let expected = "\
cache.get hit=true
  cache.get L1 hit=false
  cache.get L2 hit=true
  cache.put L1
cache.get hit=true
  cache.get L1 hit=true
cache.put
  cache.put L2
  cache.put L1
";
    assert_eq!(shown(&spans, b"", 0), expected);
    let far = &spans[2];
    let told = |name: &str| attribute(&far.attributes, name).unwrap();
    assert_eq!(told("db.system.name"), "memcached");
    assert_eq!(told("network.peer.port"), memcached.port.to_string());
    assert_eq!(told("cache.item_size"), "5");
    assert!(spans.iter().all(|span| span.end_time_unix_nano >= span.start_time_unix_nano));
    let has_key = |span: &Span| attribute(&span.attributes, "cache.key").is_some();
    assert!(!spans.iter().any(has_key), "keys may be personal");
}

fn failed() {
    let (collector, memcached) = (Collector::start(), Memcached::start());
    let url = format!("tiered:memory:?size=8m|memcached://{}?breaker=off", memcached.address());
    let serving = serve(&collector.address, &[&url]);
    drop(memcached);
    assert_eq!(serving.ask("get k\r\n"), "END\r\n");
    assert_eq!(serving.end(libc::SIGTERM).0, Some(0));
    let (_, spans) = collector.spans();
    let kinds: Vec<_> =
        spans.iter().map(|span| attribute(&span.attributes, "error.type")).collect();
    let [None, None, Some(kind)] = &kinds[..] else { panic!("{kinds:?}") };
    assert!(["io", "unavailable"].contains(&kind.as_str()), "{kind}");
}

fn alone() {
    let collector = Collector::start();
    let serving = serve(&collector.address, &[]);
    // They arrive together, and would be one call of the store.
    let sets = "set a 0 0 1\r\n1\r\n".repeat(5);
    assert_eq!(serving.ask(&sets), "STORED\r\n".repeat(5));
    let gets = "get a\r\n".repeat(7);
    assert_eq!(serving.ask(&gets), "VALUE a 0 1\r\n1\r\nEND\r\n".repeat(7));
    assert_eq!(serving.end(libc::SIGTERM), (Some(0), String::new()));
    let (_, spans) = collector.spans();
    let count = |name: &str| {
        spans.iter().filter(|it| it.name == name && it.parent_span_id.is_empty()).count()
    };
    assert_eq!([count("cache.put"), count("cache.get"), spans.len()], [5, 7, 12]);
}

fn from_environment() {
    let collector = Collector::start();
    let endpoint = format!("OTEL_EXPORTER_OTLP_ENDPOINT={}", collector.address);
    let arguments = [&endpoint, "OTEL_SERVICE_NAME=shop", LARDER, "serve", "-p", "0"];
    let serving = Serving::start("/usr/bin/env".as_ref(), &arguments);
    assert_eq!(serving.ask("get k\r\n"), "END\r\n");
    assert_eq!(serving.end(libc::SIGTERM), (Some(0), String::new()));
    let (services, spans) = collector.spans();
    assert_eq!(
        (services, shown(&spans, b"", 0)),
        (vec!["shop".into()], "cache.get hit=false\n".into())
    );
    // The common switch of all programs with OpenTelemetry.
    let arguments = [&["OTEL_SDK_DISABLED=true"], &arguments[..]].concat();
    let serving = Serving::start("/usr/bin/env".as_ref(), &arguments);
    assert_eq!(serving.ask("get k\r\n"), "END\r\n");
    assert_eq!(serving.end(libc::SIGTERM), (Some(0), String::new()));
    assert_eq!(collector.spans().1.len(), 1);
}

fn sampled() {
    let collector = Collector::start();
    let n_spans = || collector.spans().1.len();
    let ask = |share: &str| {
        let serving = serve(&collector.address, &["--trace-sample", share]);
        assert_eq!(serving.ask(&"get k\r\n".repeat(1000)), "END\r\n".repeat(1000));
        assert_eq!(serving.end(libc::SIGTERM), (Some(0), String::new()));
    };
    ask("0%");
    assert_eq!(n_spans(), 0);
    ask("20%");
    // Twelve standard deviations on each side.
    assert!((50..350).contains(&n_spans()), "{}", n_spans());
}

fn dead() {
    // The port of a listener that is gone.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut serving = serve(&format!("http://{address}"), &[]);
    // More than a batch.
    let ask = |serving: &Serving| {
        assert_eq!(serving.ask(&"get k\r\n".repeat(700)), "END\r\n".repeat(700));
    };
    ask(&serving);
    let told = serving.next_line();
    assert!(told.contains("spans are lost") && told.contains(&address.to_string()), "{told}");
    ask(&serving);
    ask(&serving);
    assert_eq!(serving.end(libc::SIGTERM), (Some(0), String::new()), "it is told once");
}

fn hanging() {
    // Connections wait in the queue of a listener that nobody asks.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let serving = serve(&format!("http://{}", listener.local_addr().unwrap()), &[]);
    for _ in 0..10 {
        // More than the queue of spans holds.
        assert_eq!(serving.ask(&"get k\r\n".repeat(700)), "END\r\n".repeat(700));
    }
    assert_eq!(serving.end(libc::SIGTERM).0, Some(0));
}
