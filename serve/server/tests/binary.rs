//! The binary protocol: this server answers as the real memcached does, byte by byte but for versions.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::fs;
use std::process::ExitCode;

use larder_engines::ENGINES;
use larder_protocol::binary::opcode::{
    GET, GETK, NOOP, SASL_AUTH, SASL_LIST_MECHS, SASL_STEP, SET, VERSION,
};
use larder_server::Settings;
use larder_testkit::{has_program, trial_where};
use libtest_mimic::{Arguments, Trial};
use support::binary::{Answer, answer, conversation, get, request, set};
use support::{Serving, lasting, settings, store};

fn main() -> ExitCode {
    let trials = vec![
        trial_where(memcached, "a_server_answers_as_memcached_does", || {
            let memcached = store("memcached:");
            let expected = conversation(memcached.info().addresses[0].parse().unwrap(), 7);
            let ours = Serving::start("memory:?size=16m", settings());
            assert_same(&expected, &conversation(ours.address, 7));
            let folder = tempfile::tempdir().unwrap();
            let url = format!("mmap:{}?size=16m", folder.path().join("cache").display());
            assert_same(&expected, &conversation(Serving::start(&url, settings()).address, 7));
            let both = Serving::of(lasting(), settings());
            assert_same(&expected, &conversation(both.address, 7));
        }),
        Trial::test("a_request_may_arrive_byte_by_byte", || {
            let serving = Serving::start("memory:?size=16m", settings());
            let mut client = serving.client();
            for byte in [set(SET, 0, 7, b"key", b"value"), get(GETK, b"key")].concat() {
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
            client.send(&set(SET, 0, 7, b"key", b"old"));
            client.send(&set(SET, 0, 7, b"key", &[b'v'; 100_000]));
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
