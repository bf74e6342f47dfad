//! The binary protocol over each store, byte by byte as from memcached, but for what the store cannot do.

use std::sync::LazyLock;

use larder_protocol::binary::opcode::{GET, INCREMENT, SET, TOUCH};
use larder_store::Capabilities;

use crate::support::binary::{
    Answer, Conversation, answer, conversation, count, get, request, set,
};
use crate::{MEMCACHED, Served, address_of, empty, memcached};

/// What memcached answers, once for all stores; `None` where it is not installed.
static EXPECTED: LazyLock<Option<Conversation>> =
    LazyLock::new(|| memcached().is_ok().then(|| conversation(address_of(&MEMCACHED), 7)));

/// The status of a request that the store cannot do.
const NOT_SUPPORTED: u16 = 0x83;

/// The status of a request for another version.
const EXISTS: u16 = 2;

pub(crate) fn each_is_answered(served: &Served) {
    let Some(expected) = &*EXPECTED else { return };
    empty(served);
    // A store without flags refuses them, so it is asked without.
    let flags = if served.able.flags { 7 } else { 0 };
    let ours = conversation(served.address(), flags);
    assert_eq!(ours.len(), expected.len());
    for ((name, expected), (_, ours)) in expected.iter().zip(ours) {
        if !served.able.version && name.contains("version") {
            let statuses: Vec<u16> = ours.iter().map(|answer| answer.status).collect();
            assert_eq!(statuses, [NOT_SUPPORTED], "{name}");
            continue;
        }
        let expected: Vec<Answer> =
            expected.iter().map(|answer| as_far(answer, &served.able)).collect();
        assert_eq!(expected, ours, "{name}");
    }
}

/// An answer as far as the store can give it.
fn as_far(answer: &Answer, able: &Capabilities) -> Answer {
    let mut answer = answer.clone();
    if !able.flags && answer.extras_len == 4 {
        answer.body[..4].fill(0);
    }
    answer
}

/// A client that stores a value on condition of what it was told never stores it without one.
pub(crate) fn a_condition_is_kept_or_refused(served: &Served) {
    empty(served);
    let mut client = served.client();
    let mut ask = |bytes: &[u8]| {
        client.send(bytes);
        answer(&mut client).unwrap()
    };
    let stored = ask(&set(SET, 0, 0, b"key", b"5"));
    let touched = ask(&request(TOUCH, 0, &0_u32.to_be_bytes(), b"key", b""));
    let counted = ask(&count(INCREMENT, b"key", 1, 0, 0));
    let read = ask(&get(GET, b"key"));
    for told in [&stored, &touched, &counted, &read] {
        assert_eq!(told.status, 0);
        let is_last = told.version == read.version;
        let expected = match (served.able.version, is_last) {
            (false, _) => NOT_SUPPORTED,
            (true, true) => 0,
            (true, false) => EXISTS,
        };
        let status = ask(&set(SET, told.version, 0, b"key", b"7")).status;
        assert_eq!(status, expected, "{told:?}");
        if status == 0 {
            // It has another version now.
            break;
        }
    }
    // The text protocol tells a version that its clients send back, too.
    if !served.able.version {
        let mut text = served.client();
        let header = text.ask("gets key");
        assert_eq!([text.line(), text.line()], ["6", "END"]);
        let version = header.rsplit(' ').next().unwrap();
        assert_ne!(version, "0");
        let told = text.ask(&format!("cas key 0 0 1 {version}\r\n7"));
        assert!(told.starts_with("SERVER_ERROR "), "{told}");
    }
    let value = if served.able.version { "7" } else { "6" };
    assert_eq!(served.client().get("key").unwrap(), value.as_bytes());
}
