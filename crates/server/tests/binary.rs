//! The binary protocol: this server answers as the real memcached does, byte by byte but for versions.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::fs;
use std::net::SocketAddr;
use std::process::ExitCode;

use larder_engines::ENGINES;
use larder_protocol::binary::opcode::{
    ADD, ADDQ, APPEND, APPENDQ, DECREMENT, DECREMENTQ, DELETE, DELETEQ, FLUSH, FLUSHQ, GAT, GATK,
    GATKQ, GATQ, GET, GETK, GETKQ, GETQ, INCREMENT, INCREMENTQ, NOOP, PREPEND, PREPENDQ, QUIT,
    QUITQ, REPLACE, REPLACEQ, SASL_AUTH, SASL_LIST_MECHS, SASL_STEP, SET, SETQ, STAT, TOUCH,
    VERSION,
};
use larder_server::Settings;
use larder_testkit::{has_program, trial_where};
use libtest_mimic::{Arguments, Trial};
use support::{Client, Serving, lasting, settings, store};

fn main() -> ExitCode {
    let trials = vec![
        trial_where(memcached, "a_server_answers_as_memcached_does", || {
            let memcached = store("memcached:");
            let expected = conversation(memcached.info().addresses[0].parse().unwrap());
            let ours = Serving::start("memory:?size=16m", settings());
            assert_same(&expected, &conversation(ours.address));
            let folder = tempfile::tempdir().unwrap();
            let url = format!("mmap:{}?size=16m", folder.path().join("cache").display());
            assert_same(&expected, &conversation(Serving::start(&url, settings()).address));
            let both = Serving::of(lasting(), settings());
            assert_same(&expected, &conversation(both.address));
        }),
        Trial::test("a_request_may_arrive_byte_by_byte", || {
            let serving = Serving::start("memory:?size=16m", settings());
            let mut client = serving.client();
            for byte in [set(SET, 0, b"key", b"value"), get(GETK, b"key")].concat() {
                client.send(&[byte]);
            }
            assert_eq!(answer(&mut client).unwrap().status, 0);
            assert_eq!(answer(&mut client).unwrap().body, b"\0\0\0\x07keyvalue");
            Ok(())
        }),
        Trial::test("a_user_says_its_password_by_sasl", logs_in),
        Trial::test("a_value_that_is_too_large_is_skipped", || {
            let settings = Settings { item_bytes: 1024, ..settings() };
            let serving = Serving::start("memory:?size=16m", settings);
            let mut client = serving.client();
            client.send(&set(SET, 0, b"key", b"old"));
            client.send(&set(SET, 0, b"key", &[b'v'; 100_000]));
            client.send(&get(GET, b"key"));
            let statuses = [(); 3].map(|()| answer(&mut client).unwrap().status);
            assert_eq!(statuses, [0, 3, 1]);
            Ok(())
        }),
        Trial::test("what_is_no_request_ends_the_connection", || {
            let serving = Serving::start("memory:?size=16m", settings());
            let mut client = serving.client();
            client.send(&request(NOOP, 0, b"", b"", b""));
            client.send(b"get key\r\n");
            assert_eq!(answer(&mut client).unwrap().status, 0);
            assert!(client.is_ended());
            Ok(())
        }),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn memcached() -> Result<(), String> {
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

/// A request whose mark is 7.
fn request(opcode: u8, version: u64, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    let key_len = u16::try_from(key.len()).unwrap();
    let body_len = u32::try_from(extras.len() + key.len() + value.len()).unwrap();
    let mut bytes = vec![0x80, opcode];
    bytes.extend_from_slice(&key_len.to_be_bytes());
    bytes.extend_from_slice(&[u8::try_from(extras.len()).unwrap(), 0, 0, 0]);
    bytes.extend_from_slice(&body_len.to_be_bytes());
    bytes.extend_from_slice(&7_u32.to_be_bytes());
    bytes.extend_from_slice(&version.to_be_bytes());
    [&bytes, extras, key, value].concat()
}

fn set(opcode: u8, version: u64, key: &[u8], value: &[u8]) -> Vec<u8> {
    request(opcode, version, &[0, 0, 0, 7, 0, 0, 0, 0], key, value)
}

fn get(opcode: u8, key: &[u8]) -> Vec<u8> {
    request(opcode, 0, b"", key, b"")
}

fn count(opcode: u8, key: &[u8], delta: u64, initial: u64, exptime: u32) -> Vec<u8> {
    let extras = [&delta.to_be_bytes()[..], &initial.to_be_bytes(), &exptime.to_be_bytes()];
    request(opcode, 0, &extras.concat(), key, b"")
}

#[derive(Debug, PartialEq, Eq)]
struct Answer {
    opcode: u8,
    key_len: u16,
    extras_len: u8,
    status: u16,
    opaque: u32,
    /// Servers count versions as they like.
    has_version: bool,
    body: Vec<u8>,
}

/// The next answer; `None` at the end of the connection.
fn answer(client: &mut Client) -> Option<Answer> {
    use std::io::Read as _;
    let mut header = [0; 24];
    client.0.read_exact(&mut header).ok()?;
    let number = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().unwrap());
    let short = |at: usize| u16::from_be_bytes(header[at..at + 2].try_into().unwrap());
    assert_eq!((header[0], header[5]), (0x81, 0));
    let mut body = vec![0; number(8).try_into().unwrap()];
    client.0.read_exact(&mut body).unwrap();
    Some(Answer {
        opcode: header[1],
        key_len: short(2),
        extras_len: header[4],
        status: short(6),
        opaque: number(12),
        has_version: number(16) | number(20) != 0,
        body,
    })
}

/// What a client says, and the answers up to the next `NOOP`.
fn conversation(address: SocketAddr) -> Vec<(String, Vec<Answer>)> {
    let long_key = [b'k'; 250];
    let blanks = b"a key \n\r with blanks".as_slice();
    let mut said: Vec<(&str, Vec<u8>)> = vec![
        ("a miss", get(GET, b"key")),
        ("quiet misses", [GETQ, GETKQ].map(|opcode| get(opcode, b"key")).concat()),
        ("a miss that tells its key", get(GETK, b"key")),
        ("set", set(SET, 0, b"key", b"value")),
        ("hits", [GET, GETQ, GETK, GETKQ].map(|opcode| get(opcode, b"key")).concat()),
        ("an empty value", set(SET, 0, b"empty", b"")),
        ("of an empty value", get(GETK, b"empty")),
        ("a key with blanks", set(SET, 0, blanks, b"value")),
        ("of a key with blanks", get(GETK, blanks)),
        ("a long key", set(SET, 0, &long_key, b"value")),
        ("of a long key", get(GETK, &long_key)),
        ("add what is there", set(ADD, 0, b"key", b"other")),
        ("add what is not", set(ADD, 0, b"added", b"other")),
        ("replace what is there", set(REPLACE, 0, b"key", b"other")),
        ("replace what is not", set(REPLACE, 0, b"absent", b"other")),
        ("append", request(APPEND, 0, b"", b"key", b"-end")),
        ("prepend", request(PREPEND, 0, b"", b"key", b"begin-")),
        ("what was put together", get(GET, b"key")),
        ("append to nothing", request(APPEND, 0, b"", b"absent", b"-end")),
        ("prepend to nothing", request(PREPENDQ, 0, b"", b"absent", b"-end")),
        ("another version", set(SET, u64::MAX, b"key", b"value")),
        ("a version of nothing", set(SET, 5, b"absent", b"value")),
        ("add by version", set(ADD, 5, b"absent", b"value")),
        ("delete another version", request(DELETE, u64::MAX, b"", b"key", b"")),
        ("delete", request(DELETE, 0, b"", b"key", b"")),
        ("delete nothing", request(DELETE, 0, b"", b"key", b"")),
        ("count nothing", count(INCREMENT, b"number", 1, 5, u32::MAX)),
        ("count from", count(INCREMENT, b"number", 1, 5, 0)),
        ("count up", count(INCREMENT, b"number", 10, 5, 0)),
        // memcached pads a number that has become shorter with blanks.
        ("the number", get(GET, b"number")),
        ("count down", count(DECREMENT, b"number", 100, 5, 0)),
        ("count beyond", count(INCREMENT, b"number", u64::MAX, 5, 0)),
        ("count around", count(INCREMENT, b"number", 2, 5, 0)),
        ("count letters", count(DECREMENT, b"added", 1, 0, 0)),
        ("touch", request(TOUCH, 0, &100_u32.to_be_bytes(), b"added", b"")),
        ("touch nothing", request(TOUCH, 0, &100_u32.to_be_bytes(), b"absent", b"")),
        ("an unknown group", request(STAT, 0, b"", b"nonsense", b"")),
        ("an unknown command", request(0x70, 0, b"", b"", b"")),
        ("no extras", request(SET, 0, b"", b"", b"")),
    ];
    for opcode in [GAT, GATQ, GATK, GATKQ] {
        for key in [&b"added"[..], b"absent"] {
            said.push(("gat", request(opcode, 0, &100_u32.to_be_bytes(), key, b"")));
        }
    }
    for opcode in [SETQ, ADDQ, ADDQ, REPLACEQ] {
        said.push(("quiet", set(opcode, 0, b"quiet", b"5")));
    }
    for opcode in [INCREMENTQ, DECREMENTQ] {
        said.push(("quiet numbers", count(opcode, b"quiet", 1, 0, 0)));
    }
    for opcode in [APPENDQ, PREPENDQ] {
        said.push(("quiet ends", request(opcode, 0, b"", b"quiet", b"1")));
    }
    said.push(("of the quiet", get(GET, b"quiet")));
    for _ in 0..2 {
        said.push(("quiet delete", request(DELETEQ, 0, b"", b"quiet", b"")));
    }
    said.push(("flush", request(FLUSH, 0, b"", b"", b"")));
    said.push(("quiet flush", request(FLUSHQ, 0, &0_u32.to_be_bytes(), b"", b"")));
    said.push(("after the flush", get(GET, b"added")));
    for opcode in [QUITQ, QUIT] {
        said.push(("the end", request(opcode, 0, b"", b"", b"")));
    }
    let mut client = Client::connect(address);
    let mut heard = Vec::new();
    for (name, bytes) in said {
        client.send(&bytes);
        // A connection that the request has ended is replaced.
        let _ = std::io::Write::write_all(client.0.get_mut(), &request(NOOP, 0, b"", b"", b""));
        let mut answers = Vec::new();
        loop {
            match answer(&mut client) {
                Some(answer) if answer.opcode == NOOP => break,
                Some(answer) => answers.push(answer),
                None => {
                    client = Client::connect(address);
                    break;
                }
            }
        }
        heard.push((name.to_owned(), answers));
    }
    heard
}

fn assert_same(expected: &[(String, Vec<Answer>)], ours: &[(String, Vec<Answer>)]) {
    for (expected, ours) in expected.iter().zip(ours) {
        assert_eq!(expected, ours);
    }
}

fn logs_in() -> Result<(), libtest_mimic::Failed> {
    let folder = tempfile::tempdir()?;
    let users = folder.path().join("users");
    fs::write(&users, "ann:secret\n")?;
    let settings = Settings { users: Some(users), ..settings() };
    let serving = Serving::start("memory:?size=16m", settings);
    let mut client = serving.client();
    let mut ask = |opcode, key: &[u8], value: &[u8]| {
        client.send(&request(opcode, 0, b"", key, value));
        let answer = answer(&mut client).unwrap();
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    assert_eq!(ask(VERSION, b"", b"").0, 0);
    assert_eq!(ask(SASL_LIST_MECHS, b"", b""), (0, "PLAIN".into()));
    let failed = (0x20, "Auth failure.".into());
    for message in ["\0ann\0wrong", "\0bob\0secret", "ann secret", "bob\0ann\0secret"] {
        assert_eq!(ask(SASL_AUTH, b"PLAIN", message.as_bytes()), failed, "{message:?}");
    }
    assert_eq!(ask(SASL_AUTH, b"OTHER", b"\0ann\0secret"), failed);
    assert_eq!(ask(SASL_AUTH, &[b'M'; 33], b"").0, 4);
    assert_eq!(ask(SASL_AUTH, b"PLAIN", b"").0, 0x21);
    assert_eq!(ask(SASL_STEP, b"PLAIN", b"\0ann\0secret"), (0, "Authenticated".into()));
    assert_eq!(ask(NOOP, b"", b"").0, 0);
    // Another client is not known, and is not served.
    let mut client = serving.client();
    client.send(&get(GET, b"key"));
    assert_eq!(answer(&mut client).unwrap().status, 0x20);
    assert!(client.is_ended());
    Ok(())
}
