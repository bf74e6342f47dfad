//! Values come back whole, or are refused; entries end at their time.

use larder_testkit::{PATIENCE, within};

use crate::support::Client;
use crate::support::binary::{answer, get, request, set};
use crate::{Served, empty};
use larder_protocol::binary::opcode::{APPEND, DELETE, GET, SET};

/// The limit of the server (`-I`), above that of some stores.
pub(crate) const ITEM_BYTES: usize = 4 << 20;

/// The value under a key by the meta protocol.
fn meta_get(client: &mut Client, key: &str) -> Vec<u8> {
    use std::io::Read as _;
    let header = client.ask(&format!("mg {key} v"));
    let len: usize = header.strip_prefix("VA ").expect(&header).parse().unwrap();
    let mut value = vec![0; len + 2];
    client.0.read_exact(&mut value).unwrap();
    assert_eq!(value.split_off(len), b"\r\n");
    value
}

pub(crate) fn bytes(served: &Served) {
    empty(served);
    let every: Vec<u8> = (0..=255).collect();
    let values: [&[u8]; 9] = [
        b"",
        b"\0",
        b"\r\n",
        b"a\r\nEND\r\n",
        b"\0\0\r\n\0",
        b"\n\r\\'\"%;--",
        &every,
        "\u{e4}\u{1f600}".as_bytes(),
        b" ",
    ];
    let (mut text, mut binary) = (served.client(), served.client());
    let told = |client: &mut Client, bytes: &[u8]| {
        client.send(bytes);
        let answer = answer(client).unwrap();
        (answer.status, answer.body)
    };
    for value in values {
        let stored = |client: &mut Client, key: &str| {
            assert_eq!(client.get(key).as_deref(), Some(value));
            assert_eq!(meta_get(client, key), value);
        };
        assert_eq!(text.set("text", value), "STORED");
        stored(&mut text, "text");
        text.send(format!("ms meta {}\r\n", value.len()).as_bytes());
        text.send(&[value, b"\r\n"].concat());
        assert_eq!(text.line(), "HD");
        stored(&mut text, "meta");
        let flags = u32::from(served.able.flags);
        assert_eq!(told(&mut binary, &set(SET, 0, flags, b"binary", value)).0, 0);
        stored(&mut text, "binary");
        let read = told(&mut binary, &get(GET, b"binary"));
        assert_eq!(read, (0, [&flags.to_be_bytes(), value].concat()));
        if served.able.append {
            assert_eq!(told(&mut binary, &request(APPEND, 0, b"", b"binary", value)).0, 0);
            assert_eq!(text.get("binary").unwrap(), [value, value].concat());
        }
    }
}

pub(crate) fn limits(served: &Served) {
    empty(served);
    let mut client = served.client();
    let limit = usize::try_from(client.settings("item_size_max")).unwrap();
    let largest: Vec<u8> = (0..=250).cycle().take(limit).collect();
    assert_eq!(client.set("large", &largest), "STORED");
    assert!(client.get("large").unwrap() == largest);
    let refusal = "SERVER_ERROR object too large for cache";
    for (verb, stays) in [("add", "gone"), ("replace", "large"), ("append", "large")] {
        let key = if stays == "gone" { "gone" } else { "large" };
        let len = if verb == "append" { 1 } else { limit + 1 };
        client.send(format!("{verb} {key} 0 0 {len}\r\n").as_bytes());
        client.send(&[&largest[..], b"x\r\n"].concat()[limit + 1 - len..]);
        assert_eq!(client.line(), refusal, "{verb}");
        assert!(client.get("large").unwrap() == largest, "{verb} has changed the older value");
        assert_eq!(client.get("gone"), None);
    }
    // A set that is refused leaves no older value, as in memcached.
    assert_eq!(client.set("large", &[&largest[..], b"x"].concat()), refusal);
    assert_eq!(client.get("large"), None);
    assert_eq!(client.set("large", b"small"), "STORED");
}

pub(crate) fn ends(served: &Served) {
    empty(served);
    let mut client = served.client();
    for key in ["set", "touched", "ms", "never", "later"] {
        let exptime = match key {
            "set" => 1,
            "later" => 1000,
            _ => 0,
        };
        assert_eq!(client.ask(&format!("set {key} 0 {exptime} 1\r\nx")), "STORED");
    }
    assert_eq!(client.ask("ms ms 1 T1\r\nx"), "HD");
    assert_eq!(client.ask("touch touched 1"), "TOUCHED");
    assert_eq!(client.ask("ma counted N1 J5"), "HD");
    for key in ["set", "touched", "ms", "counted"] {
        assert!(within(PATIENCE, || client.get(key).is_none()), "{key} does not end");
        assert_eq!(client.ask(&format!("delete {key}")), "NOT_FOUND");
        assert_eq!(client.ask(&format!("touch {key} 5")), "NOT_FOUND");
    }
    assert_eq!(client.get("never").as_deref(), Some(&b"x"[..]));
    assert_eq!(client.get("later").as_deref(), Some(&b"x"[..]));
    // What ends at once is not there: 30 days are the longest number that is no date.
    for exptime in ["-1", "2592001"] {
        assert_eq!(client.ask(&format!("set later 0 {exptime} 1\r\nx")), "STORED");
        assert_eq!(client.get("later"), None);
    }
}

/// A client may find a value by its place.
pub(crate) fn order(served: &Served) {
    empty(served);
    let mut client = served.client();
    // Each third key is absent, and no two neighbours are neighbours in the order of bytes.
    let keys: Vec<String> = (0..40).map(|i| format!("{}key{i}", i * 7 % 10)).collect();
    let is_there = |i: &usize| i % 3 != 2;
    for i in (0..keys.len()).filter(is_there) {
        assert_eq!(client.set(&keys[i], i.to_string().as_bytes()), "STORED");
    }
    let there: Vec<String> = (0..keys.len()).filter(is_there).map(|i| i.to_string()).collect();
    for verb in ["get", "gets", "gat 0"] {
        client.send(format!("{verb} {}\r\n", keys.join(" ")).as_bytes());
        let mut values = Vec::new();
        while client.line() != "END" {
            values.push(client.line());
        }
        assert_eq!(values, there, "{verb}");
    }
    // Requests that arrive together are answered in their order, too.
    let requests: Vec<String> = keys.iter().map(|key| format!("get {key}\r\n")).collect();
    client.send(requests.concat().as_bytes());
    for (i, key) in keys.iter().enumerate() {
        if is_there(&i) {
            assert!(client.line().starts_with(&format!("VALUE {key} ")));
            assert_eq!(client.line(), i.to_string());
        }
        assert_eq!(client.line(), "END");
    }
}

/// Keys that a database may take for the same.
pub(crate) fn keys(served: &Served) {
    empty(served);
    let longest = [b'k'; 250];
    let keys: [&[u8]; 14] = [
        b"key",
        b"KEY",
        b"Key",
        b"key ",
        b" key",
        b"key\0",
        b"\0",
        b"key\xff",
        b"\xc3\x28",
        "k\u{e9}y".as_bytes(),
        "ke\u{301}y".as_bytes(),
        b"%_*'\"\\;--",
        &longest,
        &longest[1..],
    ];
    let mut client = served.client();
    let mut ask = |bytes: &[u8]| {
        client.send(bytes);
        let answer = answer(&mut client).unwrap();
        (answer.status, answer.body)
    };
    for (i, key) in keys.iter().enumerate() {
        assert_eq!(ask(&set(SET, 0, 0, key, i.to_string().as_bytes())).0, 0, "{key:?}");
    }
    for (i, key) in keys.iter().enumerate() {
        let value = [&[0; 4], i.to_string().as_bytes()].concat();
        assert_eq!(ask(&get(GET, key)), (0, value), "{key:?}");
    }
    for (i, key) in keys.iter().enumerate() {
        assert_eq!(ask(&request(DELETE, 0, b"", key, b"")).0, 0, "{key:?}");
        let n_left = keys.iter().filter(|key| ask(&get(GET, key)).0 == 0).count();
        assert_eq!(n_left, keys.len() - 1 - i, "after the removal of {key:?}");
    }
}
