//! The binary protocol over each store, byte by byte as from memcached, but for what the store cannot do.

use std::sync::LazyLock;

use larder_store::Capabilities;

use crate::support::binary::{Answer, Conversation, conversation};
use crate::{MEMCACHED, Served, address_of, empty, memcached};

/// What memcached answers, once for all stores; `None` where it is not installed.
static EXPECTED: LazyLock<Option<Conversation>> =
    LazyLock::new(|| memcached().is_ok().then(|| conversation(address_of(&MEMCACHED), 7)));

/// The status of a request that the store cannot do.
const NOT_SUPPORTED: u16 = 0x83;

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
    answer.has_version &= able.version;
    if !able.flags && answer.extras_len == 4 {
        answer.body[..4].fill(0);
    }
    answer
}
