//! The answers of a server to each command.

use super::cache::{CAPACITY_BYTES, Cache};
use super::fault::Fault;
use super::request::{Request, Verb};

/// The largest item, key and header included: smaller than memcached's, so that a search for the limit moves fewer
/// bytes.
pub(super) const ITEM_SIZE_MAX: usize = 64 << 10;
/// The bytes of an item beside its key and value.
const ITEM_HEADER: usize = 56;
/// The version that the server reports: a version without the meta protocol.
const VERSION: &str = "1.5.0";
const MIB: usize = 1 << 20;

/// Whether a value is too large to be kept.
pub(super) fn is_too_large(key: &[u8], len: usize) -> bool {
    key.len() + len + ITEM_HEADER > ITEM_SIZE_MAX
}

/// Carries a request out and appends the answer. `value` is the data block of the request.
pub(super) fn answer(cache: &mut Cache, request: Request, value: Vec<u8>, out: &mut Vec<u8>) {
    match request {
        Request::Get { keys, with_version, touch } => get(cache, &keys, with_version, touch, out),
        Request::Store { verb, key, flags, exptime, .. } => {
            out.extend_from_slice(store(cache, verb, &key, flags, exptime, value).as_bytes());
        }
        Request::Delete { key, .. } => {
            let is_deleted = cache.delete(&key);
            out.extend_from_slice(if is_deleted { b"DELETED\r\n" } else { NOT_FOUND });
        }
        Request::Touch { .. } if cache.fault == Fault::FailsTouches => {
            out.extend_from_slice(b"SERVER_ERROR no touch today\r\n");
        }
        Request::Touch { key, exptime, .. } => {
            let is_touched = cache.touch(&key, exptime);
            out.extend_from_slice(if is_touched { b"TOUCHED\r\n" } else { NOT_FOUND });
        }
        Request::Add { key, delta, .. } => {
            out.extend_from_slice(add(cache, &key, delta).as_bytes());
        }
        Request::Flush { .. } => {
            cache.flush();
            out.extend_from_slice(b"OK\r\n");
        }
        Request::Stats { group } => stats(cache, &group, out),
        Request::Version => out.extend_from_slice(format!("VERSION {VERSION}\r\n").as_bytes()),
        Request::Verbosity => out.extend_from_slice(b"OK\r\n"),
        // The connection ends without an answer.
        Request::Quit => {}
    }
}

const NOT_FOUND: &[u8] = b"NOT_FOUND\r\n";

fn get(
    cache: &mut Cache,
    keys: &[Vec<u8>],
    with_version: bool,
    touch: Option<i64>,
    out: &mut Vec<u8>,
) {
    cache.counts.gets += 1;
    cache.n_keys_of_request = keys.len();
    for key in &keys[..cache.fault.asks_for(keys.len())] {
        if let Some(exptime) = touch {
            cache.touch(key, exptime);
        }
        let Some((flags, value, version)) = cache.answer(key) else {
            cache.counts.misses += 1;
            continue;
        };
        let mut named = key.clone();
        if cache.fault.misnames(cache.counts.hits) {
            named.iter_mut().next_back().into_iter().for_each(|byte| *byte ^= 1);
        }
        out.extend_from_slice(b"VALUE ");
        out.extend_from_slice(&named);
        out.extend_from_slice(format!(" {flags} {}", value.len()).as_bytes());
        if with_version {
            out.extend_from_slice(format!(" {version}").as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&value);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"END\r\n");
    if cache.fault.ends_twice(cache.counts.gets) {
        out.extend_from_slice(b"END\r\n");
    }
}

fn store(
    cache: &mut Cache,
    verb: Verb,
    key: &[u8],
    flags: u32,
    exptime: i64,
    value: Vec<u8>,
) -> &'static str {
    if is_too_large(key, value.len()) {
        // As in memcached, a refused value also removes the old one.
        cache.delete(key);
        return "SERVER_ERROR object too large for cache\r\n";
    }
    let older = cache.find(key).cloned();
    cache.has_overwritten |= older.is_some();
    match (verb, older) {
        (Verb::Set, Some(_)) if cache.fault == Fault::RefusesOverwrites => {
            return "SERVER_ERROR no second value\r\n";
        }
        (Verb::Set, _) | (Verb::Add, None) | (Verb::Replace, Some(_)) => {
            cache.store(key, flags, value, Some(exptime));
        }
        (Verb::Cas(version), Some(older)) if older.version == version => {
            cache.store(key, flags, value, Some(exptime));
        }
        (Verb::Cas(_), Some(_)) => return "EXISTS\r\n",
        (Verb::Cas(_), None) => return "NOT_FOUND\r\n",
        (Verb::Append, Some(older)) => {
            cache.store(key, older.flags, [older.value, value].concat(), None);
        }
        (Verb::Prepend, Some(older)) => {
            cache.store(key, older.flags, [value, older.value].concat(), None);
        }
        (Verb::Add, Some(_)) | (Verb::Replace | Verb::Append | Verb::Prepend, None) => {
            return "NOT_STORED\r\n";
        }
    }
    "STORED\r\n"
}

/// Adds to a number; it stops at zero and wraps at its upper end, as in memcached.
fn add(cache: &mut Cache, key: &[u8], delta: i128) -> String {
    let Some(older) = cache.find(key).cloned() else { return "NOT_FOUND\r\n".into() };
    let text = String::from_utf8(older.value).unwrap_or_default();
    let Ok(number) = text.trim_end().parse::<u64>() else {
        return "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n".into();
    };
    let sum = (i128::from(number) + delta).max(0).rem_euclid(1 << 64);
    cache.store(key, older.flags, sum.to_string().into_bytes(), None);
    format!("{sum}\r\n")
}

fn stats(cache: &Cache, group: &str, out: &mut Vec<u8>) {
    let counts = cache.counts;
    let stats: Vec<(&str, String)> = match group {
        "" => vec![
            ("pid", std::process::id().to_string()),
            ("uptime", cache.uptime().as_secs().to_string()),
            ("version", VERSION.into()),
            ("threads", "1".into()),
            ("cmd_get", counts.gets.to_string()),
            ("cmd_set", counts.sets.to_string()),
            ("get_hits", counts.hits.to_string()),
            ("get_misses", counts.misses.to_string()),
            ("delete_hits", counts.deletes.to_string()),
            ("evictions", counts.evictions.to_string()),
            ("curr_items", cache.len().to_string()),
            ("bytes", cache.bytes().to_string()),
            ("limit_maxbytes", CAPACITY_BYTES.to_string()),
        ],
        "settings" => vec![
            ("maxbytes", CAPACITY_BYTES.to_string()),
            ("item_size_max", ITEM_SIZE_MAX.to_string()),
            ("num_threads", "1".into()),
            ("evictions", "on".into()),
            ("cas_enabled", "yes".into()),
        ],
        "slabs" => {
            vec![("total_malloced", (cache.bytes().div_ceil(MIB) * MIB).to_string())]
        }
        _ => vec![],
    };
    for (name, value) in stats {
        out.extend_from_slice(format!("STAT {name} {value}\r\n").as_bytes());
    }
    out.extend_from_slice(b"END\r\n");
}
