//! Each command of the text and meta protocols with each of its flags, and the answer that memcached gives.
//!
//! `$k` stands for a key whose value is `5`, and `$n` for an absent key.

use std::net::SocketAddr;

use larder_store::Capabilities;

use crate::support::Client;
use crate::support::transcript::fits;

/// Whether a store has what a request needs.
type Need = fn(&Capabilities) -> bool;

const NOTHING: Need = |_| true;
const ADD: Need = |able| able.add;
const APPEND: Need = |able| able.append;
const INCR: Need = |able| able.incr;
const TOUCH: Need = |able| able.touch;
const GET_AND_TOUCH: Need = |able| able.get_and_touch;
const FLAGS: Need = |able| able.flags;
const VERSION: Need = |able| able.version;
const LEASES: Need = |able| able.leases;
const CLEAR: Need = |able| able.clear;

/// What a store needs for a request, the request, and the lines of the answer.
type Case = (Need, &'static str, &'static [&'static str]);

const TEXT: &[Case] = &[
    (NOTHING, "get $k", &["VALUE $k 0 1", "5", "END"]),
    (NOTHING, "get $n", &["END"]),
    (NOTHING, "get $n $k $n", &["VALUE $k 0 1", "5", "END"]),
    (NOTHING, "gets $k $n", &["VALUE $k 0 1 {n}", "5", "END"]),
    (GET_AND_TOUCH, "gat 100 $k", &["VALUE $k 0 1", "5", "END"]),
    (GET_AND_TOUCH, "gat 100 $n", &["END"]),
    (GET_AND_TOUCH, "gat 0 $n $k", &["VALUE $k 0 1", "5", "END"]),
    (GET_AND_TOUCH, "gats 100 $k $n", &["VALUE $k 0 1 {n}", "5", "END"]),
    (NOTHING, "set $k 0 0 2\r\nab", &["STORED"]),
    (NOTHING, "set $k 0 0 0\r\n", &["STORED"]),
    (NOTHING, "set $n 0 100 2\r\nab", &["STORED"]),
    (NOTHING, "set $k 0 0 2 noreply\r\nab", &[]),
    (FLAGS, "set $k 7 0 2\r\nab", &["STORED"]),
    (ADD, "add $k 0 0 1\r\nx", &["NOT_STORED"]),
    (ADD, "add $n 0 0 1\r\nx", &["STORED"]),
    (ADD, "add $n 0 0 1 noreply\r\nx", &[]),
    (ADD, "replace $k 0 0 1\r\nx", &["STORED"]),
    (ADD, "replace $n 0 0 1\r\nx", &["NOT_STORED"]),
    (ADD, "replace $k 0 0 1 noreply\r\nx", &[]),
    (APPEND, "append $k 0 0 2\r\nab", &["STORED"]),
    (APPEND, "append $k 9 0 2\r\nab", &["STORED"]),
    (APPEND, "append $k 0 0 0\r\n", &["STORED"]),
    (APPEND, "append $n 0 0 2\r\nab", &["NOT_STORED"]),
    (APPEND, "append $k 0 0 2 noreply\r\nab", &[]),
    (APPEND, "prepend $k 0 0 2\r\nab", &["STORED"]),
    (APPEND, "prepend $n 0 0 2\r\nab", &["NOT_STORED"]),
    (APPEND, "prepend $k 0 0 2 noreply\r\nab", &[]),
    (VERSION, "cas $k 0 0 1 18446744073709551615\r\nx", &["EXISTS"]),
    (VERSION, "cas $n 0 0 1 1\r\nx", &["NOT_FOUND"]),
    (NOTHING, "cas $k 0 0 1 1 noreply\r\nx", &[]),
    (NOTHING, "delete $k", &["DELETED"]),
    (NOTHING, "delete $n", &["NOT_FOUND"]),
    (NOTHING, "delete $k noreply", &[]),
    (INCR, "incr $k 10", &["15"]),
    (INCR, "incr $n 10", &["NOT_FOUND"]),
    (INCR, "incr $k 18446744073709551615", &["4"]),
    (INCR, "incr $k 1 noreply", &[]),
    (INCR, "decr $k 1", &["4"]),
    (INCR, "decr $k 10", &["0"]),
    (INCR, "decr $n 1", &["NOT_FOUND"]),
    (INCR, "decr $k 1 noreply", &[]),
    (TOUCH, "touch $k 100", &["TOUCHED"]),
    (TOUCH, "touch $k 0", &["TOUCHED"]),
    (TOUCH, "touch $n 100", &["NOT_FOUND"]),
    (TOUCH, "touch $k 100 noreply", &[]),
    (CLEAR, "flush_all", &["OK"]),
    (CLEAR, "flush_all 1000", &["OK"]),
    (NOTHING, "flush_all noreply", &[]),
    (NOTHING, "verbosity 1", &["OK"]),
];

const META: &[Case] = &[
    (NOTHING, "mg $k", &["HD"]),
    (NOTHING, "mg $n", &["EN"]),
    (NOTHING, "mg $n q", &[]),
    (NOTHING, "mg $k v", &["VA 1", "5"]),
    (NOTHING, "mg $k v q", &["VA 1", "5"]),
    (NOTHING, "mg aw== b v k", &["EN kaw== b"]),
    (NOTHING, "mg $k c", &["HD c{n}"]),
    (NOTHING, "mg $k t", &["HD t-1"]),
    (NOTHING, "mg $k s f h l k O9", &["HD s1 f0 h0 l0 k$k O9"]),
    (NOTHING, "mg $n k O9", &["EN k$n O9"]),
    (GET_AND_TOUCH, "mg $k T100 v", &["VA 1", "5"]),
    (GET_AND_TOUCH, "mg $n T100 v", &["EN"]),
    (NOTHING, "mg $k R30 v", &["VA 1", "5"]),
    (LEASES, "mg $k N30 v", &["VA 1", "5"]),
    (LEASES, "mg $n N30 v", &["VA 0 W", ""]),
    (NOTHING, "ms $k 2\r\nab", &["HD"]),
    (NOTHING, "ms $k 2 q\r\nab", &[]),
    (NOTHING, "ms $k 0 T100\r\n", &["HD"]),
    (NOTHING, "ms $k 2 k O9 b\r\nab", &["CLIENT_ERROR error decoding key"]),
    (NOTHING, "ms a2V5 2 k O9 b\r\nab", &["HD ka2V5 b O9"]),
    (FLAGS, "ms $k 2 F7\r\nab", &["HD"]),
    (NOTHING, "ms $k 2 c\r\nab", &["HD c{n}"]),
    (ADD, "ms $k 2 ME\r\nab", &["NS"]),
    (ADD, "ms $n 2 ME\r\nab", &["HD"]),
    (ADD, "ms $k 2 MR\r\nab", &["HD"]),
    (ADD, "ms $n 2 MR k O9\r\nab", &["NS k$n O9"]),
    (APPEND, "ms $k 2 MA\r\nab", &["HD"]),
    (APPEND, "ms $n 2 MA\r\nab", &["NS"]),
    (APPEND, "ms $k 2 MP\r\nab", &["HD"]),
    (NOTHING, "ms $k 2 MS\r\nab", &["HD"]),
    (VERSION, "ms $k 2 C999999999999\r\nab", &["EX"]),
    (VERSION, "ms $n 2 C999999999999\r\nab", &["NF"]),
    (VERSION, "ms $k 2 MR C999999999999\r\nab", &["EX"]),
    (VERSION, "ms $n 2 MR C999999999999\r\nab", &["NF"]),
    (ADD, "ms $k 2 ME C999999999999\r\nab", &["NS"]),
    (ADD, "ms $n 2 ME C999999999999\r\nab", &["HD"]),
    (VERSION, "ms $k 2 MA C999999999999\r\nab", &["EX"]),
    (VERSION, "ms $k 2 MP C999999999999 k O9\r\nab", &["EX k$k O9"]),
    (NOTHING, "ms $n 2 MA C999999999999\r\nab", &["NS"]),
    (NOTHING, "md $k", &["HD"]),
    (NOTHING, "md $k q", &[]),
    (NOTHING, "md $n", &["NF"]),
    (NOTHING, "md $n k O9", &["NF k$n O9"]),
    (VERSION, "md $k C999999999999", &["EX"]),
    (VERSION, "md $n C999999999999", &["NF"]),
    (LEASES, "md $k I T30", &["HD"]),
    (LEASES, "md $n I", &["NF"]),
    (INCR, "ma $k", &["HD"]),
    (INCR, "ma $k q", &[]),
    (INCR, "ma $n", &["NF"]),
    (INCR, "ma $n k O9", &["NF k$n O9"]),
    (INCR, "ma $k D7 v", &["VA 2", "12"]),
    (INCR, "ma $k MD D2 v k O9", &["VA 1 k$k O9", "3"]),
    (INCR, "ma $k MI v", &["VA 1", "6"]),
    (INCR, "ma $k M- v", &["VA 1", "4"]),
    (INCR, "ma $n N0 J13 v t", &["VA 2 t-1", "13"]),
    (VERSION, "ma $k C999999999999 v", &["EX"]),
    (VERSION, "ma $k C999999999999 MD q k O9", &["EX k$k O9"]),
    (NOTHING, "ma $n C999999999999 v", &["NF"]),
    (NOTHING, "ma $n C999999999999 N0 J7 v", &["VA 1", "7"]),
    (INCR, "ma $n N100 J13 v", &["VA 2", "13"]),
    (|able| able.incr && able.touch, "ma $k T100 v", &["VA 1", "6"]),
    (|able| able.incr && able.touch, "ma $n T100 v", &["NF"]),
    (|able| able.incr && able.touch, "ma $n N0 J7 T100 v", &["VA 1", "7"]),
    (|able| able.incr && able.touch, "ma $k T100 MD v t", &["VA 1 t100", "4"]),
    (|able| able.incr && able.touch, "ma $n N7 J7 T100 v t", &["VA 1 t100", "7"]),
    (INCR, "ma $k c v", &["VA 1 c{n}", "6"]),
    (NOTHING, "me $k", &["ME $k exp=-1 la={n} cas={n} fetch=no cls=1 size={n}"]),
    (NOTHING, "me $n", &["EN"]),
];

/// What memcached has since 1.6.21: a Debian 12 has an older one, which cannot be asked.
const NEWER: &[Case] = &[
    (NOTHING, "ms $k 2 s\r\nab", &["HD s2"]),
    (APPEND, "ms $n 2 MA N0\r\nab", &["HD"]),
    (APPEND, "ms $n 2 MP N30\r\nab", &["HD"]),
];

/// What is refused over every store, though memcached has it.
const REFUSED: &[&str] = &[
    "mg $k E5 v",
    "ms $k 2 E5\r\nab",
    "ms $k 2 I C999999999999\r\nab",
    "md $k x",
    "md $k E5",
    "md $k I C999999999999",
    "ma $k E5",
];

/// The real memcached answers so.
pub(crate) fn memcached_agrees(address: SocketAddr) {
    each(&[TEXT, META].concat(), address, None);
}

/// A store answers as memcached does, as far as it has what the request needs.
pub(crate) fn each_is_answered(address: SocketAddr, able: &Capabilities) {
    each(&[TEXT, META, NEWER].concat(), address, Some(able));
}

/// Says each request. Without capabilities the server has every command.
fn each(cases: &[Case], address: SocketAddr, able: Option<&Capabilities>) {
    let mut client = Client::connect(address);
    let mut wrong = Vec::new();
    for (i, (need, request, answer)) in cases.iter().enumerate() {
        let said = prepared(&mut client, request, i);
        if able.is_none_or(need) {
            let expected: Vec<String> = answer.iter().map(|line| named(line, i)).collect();
            let is_right = said.len() == expected.len()
                && expected.iter().zip(&said).all(|(expected, line)| fits(expected, line));
            if !is_right {
                wrong.push(format!("{request:?}: {said:?} in place of {expected:?}"));
            }
        } else if !is_refused(&said) {
            wrong.push(format!("{request:?}: {said:?} is no refusal"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Says each request that no store can do.
pub(crate) fn others_are_refused(address: SocketAddr) {
    let mut client = Client::connect(address);
    for (i, request) in REFUSED.iter().enumerate() {
        let said = prepared(&mut client, request, i);
        assert!(is_refused(&said), "{request:?}: {said:?} is no refusal");
    }
}

/// Each group of statistics is whole.
pub(crate) fn statistics(address: SocketAddr) {
    let mut client = Client::connect(address);
    for group in ["", " settings", " items", " slabs", " sizes", " conns", " latency"] {
        client.send(format!("stats{group}\r\nmn\r\n").as_bytes());
        let lines: Vec<String> =
            std::iter::from_fn(|| Some(client.line()).filter(|line| line != "MN")).collect();
        let (end, figures) = lines.split_last().unwrap();
        let are_figures = figures.iter().all(|line| line.starts_with("STAT "));
        assert!(end == "END" && are_figures, "stats{group}: {lines:?}");
    }
}

/// The lines of the answer to a request, about keys of its own.
fn prepared(client: &mut Client, request: &str, i: usize) -> Vec<String> {
    let request = named(request, i);
    client.send(format!("set k{i} 0 0 1\r\n5\r\n{request}\r\nmn\r\n").as_bytes());
    assert_eq!(client.line(), "STORED");
    let lines = std::iter::from_fn(|| Some(client.line()).filter(|line| line != "MN"));
    lines.collect()
}

/// A request or an answer with its keys.
fn named(text: &str, i: usize) -> String {
    text.replace("$k", &format!("k{i}")).replace("$n", &format!("n{i}"))
}

/// One line, and no other.
fn is_refused(said: &[String]) -> bool {
    matches!(said, [line] if line.starts_with("SERVER_ERROR "))
}
