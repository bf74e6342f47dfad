//! A wrong value that a program reports, described as Larder describes the wrong values of its own engines.

use super::reply::WrongRan;
use super::script::Script;
use larder_workload::{Correctness, KeySpace, NOTHING, ReadExpectation, Values};

/// The sources of an explanation of a wrong value: the plan that was carried out, its keys and its values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) script: &'a Script,
    pub(super) keys: &'a KeySpace,
    pub(super) values: &'a Values,
    /// The version from which the turn counts.
    pub(super) base: u32,
}

/// Describes the expected value and the value that came.
pub(super) fn example(name: &str, wrong: &WrongRan, words: &Words<'_>) -> Result<String, String> {
    let Words { script, keys, values, base } = *words;
    let known =
        [Correctness::Truncated, Correctness::Stale, Correctness::OtherKey, Correctness::Damaged];
    let finding = known.into_iter().find(|finding| finding.name() == Some(name));
    let oldest = script.version(wrong.value);
    let bytes = bytes(&wrong.begins).filter(|bytes| bytes.len() <= wrong.length);
    let (Some(finding), Some(oldest), Some(mut bytes), true) =
        (finding, oldest, bytes, wrong.key < keys.count())
    else {
        return Err(format!("`{name}`: its example is not a wrong value of the plan"));
    };
    let oldest = if oldest == NOTHING { NOTHING } else { oldest.max(base + 1) };
    let is_cut = bytes.len() < wrong.length;
    if is_cut && finding == Correctness::Damaged {
        let key = keys.shown(wrong.key);
        return Ok(format!("`{key}` came back damaged, with {} bytes", wrong.length));
    }
    // Otherwise only the header and the length count.
    bytes.resize(wrong.length.min(values.longest()).max(bytes.len()), 0);
    Ok(values.describe(keys, ReadExpectation { key: wrong.key, oldest, base }, finding, &bytes))
}

/// The bytes of hexadecimal digits; `None` for other text.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(|pair| byte(pair).filter(|_| pair.len() == 2)).collect()
}
