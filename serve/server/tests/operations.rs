//! What an operator sees: metrics, percentiles, and the log of slow requests.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use larder_server::{Address, Listeners, Order, Server, Settings};
use support::{PATIENCE, Serving, settings, store};

/// The answer to a request over HTTP: its first line, and its page.
fn ask(address: SocketAddr, request: &str) -> (String, String) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), page.to_owned())
}

/// The number of a metric.
fn number(page: &str, metric: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{metric} is not in {page}")).parse().unwrap()
}

#[test]
fn metrics_tell_what_was_served() {
    let metrics = Some((Ipv4Addr::LOCALHOST, 0).into());
    let settings = Settings { metrics, ..settings() };
    let address = Address::Tcp((Ipv4Addr::LOCALHOST, 0).into());
    let listeners = Listeners::bind(&[address], 16, Vec::new()).unwrap();
    let server = Server::start(store("memory:?size=16m"), listeners, settings).unwrap();
    let (metrics, remote) = (server.metrics().unwrap(), server.remote());
    let served = server.addresses()[0].socket_address().unwrap();
    let thread = std::thread::spawn(move || server.run());
    let mut client = support::Client::connect(served);
    assert_eq!(client.set("key", b"value"), "STORED");
    for key in ["key", "key", "absent"] {
        client.get(key);
    }
    client.ask("nonsense");
    let (status, page) = ask(metrics, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(status, "HTTP/1.1 200 OK");
    for (metric, expected) in [
        ("larder_commands_total{command=\"get\",outcome=\"hit\"}", 2.0),
        ("larder_commands_total{command=\"get\",outcome=\"miss\"}", 1.0),
        ("larder_commands_total{command=\"set\",outcome=\"\"}", 1.0),
        ("larder_connections", 1.0),
        ("larder_items", 1.0),
        ("larder_request_duration_seconds_count{command=\"get\"}", 3.0),
        ("larder_request_duration_seconds_bucket{command=\"get\",le=\"+Inf\"}", 3.0),
        ("larder_request_duration_seconds_bucket{command=\"get\",le=\"10\"}", 3.0),
        ("larder_request_duration_seconds_count{command=\"set\"}", 1.0),
        ("larder_request_duration_seconds_count{command=\"other\"}", 1.0),
    ] {
        assert!((number(&page, metric) - expected).abs() < 0.1, "{metric} in {page}");
    }
    // Each metric is told what it is, once, before its lines.
    let names = page.lines().filter(|line| line.starts_with("# TYPE")).count();
    assert_eq!(names, page.lines().filter(|line| line.starts_with("# HELP")).count());
    assert_eq!(ask(metrics, "GET / HTTP/1.1\r\n\r\n").0, "HTTP/1.1 404 Not Found");
    let refused = "HTTP/1.1 405 Method Not Allowed";
    assert_eq!(ask(metrics, "POST /metrics HTTP/1.1\r\n\r\n").0, refused);
    // Readers that say nothing harm nobody.
    let silent: Vec<_> = (0..10).map(|_| TcpStream::connect(metrics).unwrap()).collect();
    assert_eq!(client.ask("mn"), "MN");
    drop(silent);
    remote.give(Order::End);
    thread.join().unwrap().unwrap();
}

#[test]
fn each_tier_of_a_stack_is_told() {
    let metrics = Some((Ipv4Addr::LOCALHOST, 0).into());
    let settings = Settings { metrics, ..settings() };
    let address = Address::Tcp((Ipv4Addr::LOCALHOST, 0).into());
    let listeners = Listeners::bind(&[address], 16, Vec::new()).unwrap();
    let stack = store("tiered:memory:?size=1m&name=near|memory:");
    let server = Server::start(stack, listeners, settings).unwrap();
    let (metrics, remote) = (server.metrics().unwrap(), server.remote());
    let served = server.addresses()[0].socket_address().unwrap();
    let thread = std::thread::spawn(move || server.run());
    let mut client = support::Client::connect(served);
    assert_eq!(client.set("key", b"value"), "STORED");
    for key in ["key", "key", "absent"] {
        client.get(key);
    }
    client.send(b"stats tiers\r\nstats store\r\n");
    let mut group = || {
        let mut lines = Vec::new();
        loop {
            match client.line().as_str() {
                "END" => return lines,
                line => lines.push(line.to_owned()),
            }
        }
    };
    let tiers = group();
    for line in
        ["STAT 1:name L1 near", "STAT 1:get_hits 2", "STAT 1:stored 1", "STAT 2:get_misses 1"]
    {
        assert!(tiers.iter().any(|told| told == line), "{line} is not in {tiers:?}");
    }
    assert!(group().iter().any(|line| line == "STAT loads 0"));
    let (_, page) = ask(metrics, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    for (metric, expected) in [
        ("larder_tier_reads_total{tier=\"L1 near\",outcome=\"hit\"}", 2.0),
        ("larder_tier_reads_total{tier=\"L2 memory:\",outcome=\"miss\"}", 1.0),
        ("larder_tier_values_total{tier=\"L1 near\",outcome=\"stored\"}", 1.0),
        ("larder_store_loads_total", 0.0),
    ] {
        assert!((number(&page, metric) - expected).abs() < 0.1, "{metric} in {page}");
    }
    remote.give(Order::End);
    thread.join().unwrap().unwrap();
}

#[test]
fn percentiles_are_in_the_statistics() {
    let folder = tempfile::tempdir().unwrap();
    // Of requests of a turn, those over storage threads are timed all, and the first alone otherwise.
    let file = format!("file:{}", folder.path().join("cache").display());
    for (url, timed) in [("memory:?size=16m", 1), (file.as_str(), 3)] {
        let serving = Serving::start(url, settings());
        let mut client = serving.client();
        client.send(b"get a\r\nget b\r\nget c\r\n");
        assert_eq!([(); 3].map(|()| client.line()), ["END"; 3]);
        let statistic = |client: &mut support::Client, group: &str, name: &str| {
            client.send(format!("{group}\r\n").as_bytes());
            let mut found = None;
            loop {
                let line = client.line();
                if line == "END" {
                    return found;
                }
                let name = format!("STAT {name} ");
                found = found.or(line.strip_prefix(&name).map(ToOwned::to_owned));
            }
        };
        let n_timed = statistic(&mut client, "stats latency", "get_timed");
        // A client may be read in several turns.
        assert!(n_timed.unwrap().parse::<u64>().unwrap() >= timed);
        let p99 = statistic(&mut client, "stats", "larder_latency_p99_us").unwrap();
        assert!(p99.parse::<f64>().unwrap() > 0.0, "{p99}");
        assert_eq!(client.ask("stats reset"), "RESET");
    }
}
