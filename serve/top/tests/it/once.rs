//! One table for a script: its figures, and servers that do not answer.

use std::process::Stdio;
use std::time::{Duration, Instant};

use larder_testkit::{Memcached, Peer};

use crate::load::Load;
use crate::process::{cell, piped, table};
use crate::server::until_connected;
use crate::{Case, MEMCACHED, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (MEMCACHED, "one_table_has_the_figures_of_a_real_load", figures),
    (MEMCACHED, "a_server_that_hangs_does_not_hold_up_the_others", hanging),
    (MEMCACHED, "a_server_that_is_killed_between_its_samples_is_down", killed),
    (NOTHING, "where_no_server_answers_one_line_says_so", none),
    (NOTHING, "a_wrong_address_or_interval_is_a_fault_of_the_usage", usage),
];

const SECOND: Duration = Duration::from_secs(1);

fn figures() {
    let server = Memcached::start();
    let load = Load::on(&server);
    let output = piped(2 * SECOND, &[&server.address()]).output().unwrap();
    let rounds = load.end();
    let table = table(&output, 0);
    // One server is its own total.
    assert_eq!(table.len(), 2, "{table:#?}");
    let of = |title| cell(&table, &server.address(), title).to_owned();
    let number = |title| of(title).parse::<f64>().unwrap();
    // The machine may be busy during a part of the load, so a rate has wide bounds and a share has narrow ones.
    let gets = number("get/s");
    assert!((gets / (10.0 * rounds) - 1.0).abs() < 0.5, "{gets} gets/s in {rounds} rounds/s");
    for (title, part) in [("set/s", 0.2), ("other/s", 0.2), ("req/s", 1.4)] {
        let share = number(title) / gets;
        assert!((share / part - 1.0).abs() < 0.1, "{title}: {share} of {gets}");
    }
    let hit_rate: f64 = of("hit").trim_end_matches('%').parse().unwrap();
    assert!((hit_rate - 80.0).abs() < 1.0, "{hit_rate}");
    assert_eq!((of("state").as_str(), of("items").as_str()), ("up", "1"));
    assert!(of("conns").ends_with("/100") && of("bytes").ends_with("B/64M"), "{table:#?}");
    assert!(of("version").starts_with("1.") && of("cpu").ends_with('%'), "{table:#?}");
    assert_eq!(of("evict/s"), "0");
}

fn hanging() {
    let server = Memcached::start();
    let hangs = Peer::listening(|client, _| std::mem::forget(client));
    let hangs = format!("127.0.0.1:{}", hangs.port());
    let began = Instant::now();
    let output = piped(SECOND, &[&hangs, &server.address()]).output().unwrap();
    // The interval, and the patience with the first attempt at the server that hangs.
    assert!(began.elapsed() < 30 * SECOND);
    let table = table(&output, 0);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(table[1][..2] == [&hangs, "down"] && text.contains("no answer within 2s"), "{text}");
    assert_eq!(cell(&table, &server.address(), "state"), "up");
    cell(&table, &server.address(), "req/s").parse::<f64>().unwrap();
    assert_eq!(cell(&table, "total", "state"), "1/2");
}

fn killed() {
    let [server, stays] = [Memcached::start(), Memcached::start()];
    let address = server.address();
    let mut observer = server.connect();
    let mut command = piped(3 * SECOND, &[&address, &stays.address()]);
    let view = command.stdout(Stdio::piped()).spawn().unwrap();
    until_connected(&mut observer, 2);
    drop(server);
    let table = table(&view.wait_with_output().unwrap(), 0);
    // The reason depends on the moment: a refused connection, or one that ended.
    assert_eq!((table[1][..2].concat(), table[1].len() > 2), (address + "down", true));
    assert_eq!(cell(&table, &stays.address(), "state"), "up");
}

fn none() {
    let output = piped(SECOND, &["/no/such/socket", "/nor/this"]).output().unwrap();
    let table = table(&output, 1);
    assert_eq!(table[1].join(" "), "/no/such/socket down no such file or directory");
    let error = String::from_utf8(output.stderr).unwrap();
    let wanted = "no server answered; /no/such/socket: no such file or directory\n";
    assert_eq!(error, wanted);
}

fn usage() {
    for (interval_ms, addresses, parts) in [
        (1000, &["host:http"][..], ["`http` is no port from 1 to 65535", "write host:11211"]),
        (1000, &["a", "a:11211"], ["`a:11211` is named twice", "once"]),
        (99, &["a"], ["an interval of 99ms", "100ms and 1h"]),
        (3_600_001, &["a"], ["an interval of 3600001ms", "100ms and 1h"]),
    ] {
        let output = piped(Duration::from_millis(interval_ms), addresses).output().unwrap();
        assert!(table(&output, 2).is_empty());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
