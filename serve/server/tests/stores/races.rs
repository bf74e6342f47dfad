//! Many clients change one entry at the same time, and no change is lost.

use std::sync::Barrier;

use crate::support::Client;
use crate::{Served, empty};

/// Clients at the same time.
const CLIENTS: usize = 8;

/// Changes by each of them.
const CHANGES: usize = 12;

/// What each of the clients gets from `change`, which all begin together.
fn together<T: Send>(served: &Served, change: impl Fn(Client, usize) -> T + Sync) -> Vec<T> {
    empty(served);
    let start = Barrier::new(CLIENTS);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|i| {
                let (start, change) = (&start, &change);
                scope.spawn(move || {
                    let client = served.client();
                    start.wait();
                    change(client, i)
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

pub(crate) fn incr(served: &Served) {
    served.client().set("other", b"0");
    let told = together(served, |mut client, i| {
        if i == 0 {
            assert_eq!(client.set("number", b"1000"), "STORED");
        }
        let mut told = Vec::new();
        while told.len() < CHANGES {
            match client.ask("incr number 1").as_str() {
                // The first client has not stored it yet.
                "NOT_FOUND" => {}
                number => told.push(number.parse::<usize>().expect(number)),
            }
        }
        told
    });
    let mut told = told.concat();
    told.sort_unstable();
    let expected: Vec<usize> = (1001..=1000 + CLIENTS * CHANGES).collect();
    assert_eq!(told, expected, "each number is told to one client");
}

pub(crate) fn initial(served: &Served) {
    together(served, |mut client, _| {
        for _ in 0..CHANGES / 2 {
            assert_eq!(client.ask("ma number N0 J1"), "HD");
            assert_eq!(client.ask("ma number N0 J1 T1000"), "HD");
        }
    });
    let number = served.client().get("number").unwrap();
    assert_eq!(String::from_utf8(number).unwrap(), (CLIENTS * CHANGES).to_string());
}

/// The text under the key is made of whole parts, this many of each client.
fn assert_has_each_part(served: &Served) {
    let text = String::from_utf8(served.client().get("text").unwrap()).unwrap();
    let parts: Vec<&str> = text.split_terminator(';').collect();
    assert_eq!(parts.len(), CLIENTS * CHANGES, "{text}");
    for client in 0..CLIENTS {
        let client = client.to_string();
        assert_eq!(parts.iter().filter(|part| **part == client).count(), CHANGES, "{text}");
    }
}

pub(crate) fn append(served: &Served) {
    together(served, |mut client, i| {
        client.ask("add text 0 0 0\r\n");
        for n in 0..CHANGES {
            let verb = if n % 2 == 0 { "append" } else { "prepend" };
            assert_eq!(client.ask(&format!("{verb} text 0 0 2\r\n{i};")), "STORED");
        }
    });
    assert_has_each_part(served);
}

pub(crate) fn append_or_make(served: &Served) {
    together(served, |mut client, i| {
        for _ in 0..CHANGES {
            assert_eq!(client.ask(&format!("ms text 2 MA N0\r\n{i};")), "HD");
        }
    });
    assert_has_each_part(served);
}

/// Of all clients one alone is told `won`, and all others `lost`.
fn assert_one_wins(told: &[String], won: &str, lost: &str) {
    let n_won = told.iter().filter(|told| *told == won).count();
    let n_lost = told.iter().filter(|told| *told == lost).count();
    assert_eq!((n_won, n_lost), (1, CLIENTS - 1), "{told:?}");
}

pub(crate) fn add(served: &Served) {
    let told = together(served, |mut client, i| {
        let ask = |n: usize| client.ask(&format!("add race{n} 0 0 1\r\n{i}"));
        (0..CHANGES).map(ask).collect::<Vec<_>>()
    });
    for n in 0..CHANGES {
        let told: Vec<String> = told.iter().map(|told| told[n].clone()).collect();
        assert_one_wins(&told, "STORED", "NOT_STORED");
        let winner = told.iter().position(|told| told == "STORED").unwrap();
        let value = served.client().get(&format!("race{n}")).unwrap();
        assert_eq!(String::from_utf8(value).unwrap(), winner.to_string());
    }
}

pub(crate) fn delete(served: &Served) {
    for n in 0..3 {
        let told = together(served, |mut client, i| {
            if i == 0 {
                client.set(&format!("race{n}"), b"x");
            }
            let request = format!("delete race{n}");
            // Each asks until the first client has stored the entry and somebody has removed it.
            let mut told = client.ask(&request);
            while told == "NOT_FOUND" && client.get("over").is_none() {
                told = client.ask(&request);
            }
            if told == "DELETED" {
                client.set("over", b"");
            }
            told
        });
        assert_one_wins(&told, "DELETED", "NOT_FOUND");
    }
}

pub(crate) fn cas(served: &Served) {
    if !served.able.version {
        return;
    }
    together(served, |mut client, _| {
        client.ask("add number 0 0 1\r\n0");
        for _ in 0..CHANGES {
            while !is_counted_by_cas(&mut client) {}
        }
    });
    let number = served.client().get("number").unwrap();
    assert_eq!(String::from_utf8(number).unwrap(), (CLIENTS * CHANGES).to_string());
}

/// Each client changes the text and the number on condition of what it has read.
pub(crate) fn conditional(served: &Served) {
    if !served.able.version {
        return;
    }
    together(served, |mut client, i| {
        client.ask("add text 0 1000 0\r\n");
        client.ask("add number 0 0 1\r\n0");
        for n in 0..CHANGES {
            let mode = if n % 2 == 0 { "MA" } else { "MP" };
            again(&mut client, "text", &|version| format!("ms text 2 {mode} C{version}\r\n{i};"));
            again(&mut client, "number", &|version| format!("ma number C{version}"));
        }
    });
    assert_has_each_part(served);
    let number = served.client().get("number").unwrap();
    assert_eq!(String::from_utf8(number).unwrap(), (CLIENTS * CHANGES).to_string());
    let left = served.client().ask("mg text t");
    let left: i64 = left.strip_prefix("HD t").expect(&left).parse().unwrap();
    assert!((900..=1000).contains(&left), "{left} s are left of 1000 s");
}

/// Sends a request on condition of the version of an entry, until the entry has it.
fn again(client: &mut Client, key: &str, request: &dyn Fn(&str) -> String) {
    loop {
        let read = client.ask(&format!("mg {key} c"));
        let told = client.ask(&request(read.strip_prefix("HD c").expect(&read)));
        assert!(told == "HD" || told == "EX", "{told}");
        if told == "HD" {
            return;
        }
    }
}

/// Reads the number with its version, and stores the next on condition of it.
fn is_counted_by_cas(client: &mut Client) -> bool {
    let header = client.ask("gets number");
    let version = header.rsplit(' ').next().unwrap().to_owned();
    let next = (client.line().parse::<usize>().expect(&header) + 1).to_string();
    assert_eq!(client.line(), "END");
    let told = client.ask(&format!("cas number 0 0 {} {version}\r\n{next}", next.len()));
    assert!(told == "STORED" || told == "EXISTS", "{told}");
    told == "STORED"
}
