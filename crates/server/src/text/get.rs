//! `get`, `gets`, `gat`, `gats`.

use std::ops::Range;

use larder_protocol::key::MAX_KEY_LEN;
use larder_protocol::request::Fault;
use larder_protocol::text::get::{self, Request, ValueHeader};
use larder_store::{Error, Meta};

use super::in_order::InOrder;
use crate::behind::Done;
use crate::context::{Desk, NO_VERSION, ttl_of};
use crate::conversation::ANSWER_BYTES;
use crate::counts::Count;

/// Keys that are looked up together.
pub(crate) const TOGETHER: usize = 16;

/// Keys of one request that are answered before other connections have their turn.
const A_TURN: usize = 1024;

/// Values from this length on are read one by one, so that the bytes of an answer stay bounded.
pub(super) const LONG: usize = 16 << 10;

pub(super) fn run(
    request: &Request<'_>,
    unanswered: usize,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Done {
    let mut keys = request.keys;
    if unanswered > 0 {
        keys = keys.last_bytes(unanswered);
    } else if keys.into_iter().any(|key| key.len() > MAX_KEY_LEN) {
        return Done::Refused(Fault::Format);
    }
    // The first key tells how long values are.
    let mut n_alone = 1_usize;
    let mut n_answered = 0;
    let mut batch: [&[u8]; TOGETHER] = [&[]; TOGETHER];
    loop {
        let before = (keys, out.len());
        let together = if n_alone > 0 || request.exptime.is_some() { 1 } else { TOGETHER };
        n_alone = n_alone.saturating_sub(1);
        let mut n_keys = 0;
        for (place, key) in batch[..together].iter_mut().zip(&mut keys) {
            *place = key;
            n_keys += 1;
        }
        let found = match &batch[..n_keys] {
            [] => break,
            [key] => one(key, request, desk, out).map(|()| true),
            keys => many(keys, request, desk, out),
        };
        match found {
            Ok(true) if (out.len() - before.1) / n_keys > LONG => n_alone = n_alone.max(1),
            Ok(true) => {}
            Ok(false) => {
                keys = before.0;
                out.truncate(before.1);
                n_alone = n_keys;
            }
            Err(error) => {
                out.truncate(before.1);
                desk.refuse(out, &error);
                return Done::Whole(0);
            }
        }
        let left = keys.left();
        n_answered += n_keys;
        let is_enough = n_answered >= A_TURN || desk.turn_is_over();
        if left > 0 && (is_enough || out.len() >= ANSWER_BYTES) {
            return Done::Part(left);
        }
    }
    get::encode_end(out);
    Done::Whole(0)
}

/// Requests that have been answered together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pipelined {
    /// Their bytes.
    pub(crate) len: usize,
    /// Their number; 0 where there are none.
    pub(crate) n: usize,
    /// Reads behind them that are answered alone, because all were together too much.
    pub(crate) n_alone: usize,
}

/// Answers the plain `get` requests of one key each at the beginning of `input`, at most so many, by one call of the store.
#[inline]
pub(crate) fn pipelined(
    input: &[u8],
    most: usize,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Pipelined {
    let mut keys: [&[u8]; TOGETHER] = [&[]; TOGETHER];
    let (mut n_keys, mut len, mut first_len) = (0, 0, 0);
    while n_keys < most.min(TOGETHER) {
        let Some((key, key_len)) = get::parse_single(&input[len..]) else { break };
        keys[n_keys] = key;
        n_keys += 1;
        len += key_len;
        if n_keys == 1 {
            first_len = key_len;
        }
    }
    let keys = &keys[..n_keys];
    if n_keys > 1 && all(keys, desk, out) {
        return Pipelined { len, n: n_keys, n_alone: 0 };
    }
    let Some(key) = keys.first() else { return Pipelined::default() };
    single(key, desk, out);
    Pipelined { len: first_len, n: 1, n_alone: n_keys - 1 }
}

/// Answers the keys of different connections. `places[i]` is the part of `out` that answers `keys[i]`. `false` where their
/// values are together too long, or the store fails.
pub(crate) fn get_apart(
    keys: &[&[u8]],
    desk: &mut Desk,
    out: &mut Vec<u8>,
    places: &mut [Range<usize>],
) -> bool {
    let most = out.len() + TOGETHER * LONG;
    let (mut hits, mut is_right) = (0, true);
    let miss = out.len();
    get::encode_end(out);
    places.fill(miss..out.len());
    let longest = &mut desk.value_len;
    let found = desk.session.get_many(keys, &mut |i, value, meta| {
        *longest = value.len();
        is_right &= out.len() + value.len() <= most;
        if is_right {
            let begin = out.len();
            add(keys[i], value, meta, false, out);
            get::encode_end(out);
            places[i] = begin..out.len();
            hits += 1;
        }
    });
    let is_right = is_right && found.is_ok();
    if is_right {
        count_gets(keys.len() as u64, hits, desk);
    }
    is_right
}

fn count_gets(n_keys: u64, hits: u64, desk: &Desk) {
    desk.counts.add(Count::CmdGet, n_keys);
    desk.counts.add(Count::GetHits, hits);
    desk.counts.add(Count::GetMisses, n_keys.saturating_sub(hits));
}

/// Answers a request for one key.
#[inline]
fn single(key: &[u8], desk: &mut Desk, out: &mut Vec<u8>) {
    let begin = out.len();
    match plain(key, false, desk, out) {
        Ok(()) => get::encode_end(out),
        Err(error) => {
            out.truncate(begin);
            desk.refuse(out, &error);
        }
    }
}

/// Answers one key, and counts it.
#[inline]
fn plain(key: &[u8], wants_version: bool, desk: &mut Desk, out: &mut Vec<u8>) -> Result<(), Error> {
    let is_found = straight(key, wants_version, desk, out)?;
    count_gets(1, u64::from(is_found), desk);
    Ok(())
}

/// Answers keys, each as a request of its own. `false`, and no answer, where the values are together too long, or the store
/// fails: then each request is answered alone.
fn all(keys: &[&[u8]], desk: &mut Desk, out: &mut Vec<u8>) -> bool {
    let begin = out.len();
    let mut answers = InOrder::behind(out, get::encode_end);
    let found = desk.session.get_many(keys, &mut |i, value, meta| {
        answers.add(out, i, value.len(), |out| {
            add(keys[i], value, meta, false, out);
            get::encode_end(out);
        });
    });
    let hits = found.ok().and_then(|()| answers.finish(out, keys.len()));
    let Some(hits) = hits else {
        out.truncate(begin);
        return false;
    };
    count_gets(keys.len() as u64, hits, desk);
    true
}

/// Answers one key; its value goes straight into the answer.
fn one(key: &[u8], request: &Request<'_>, desk: &mut Desk, out: &mut Vec<u8>) -> Result<(), Error> {
    let Some(exptime) = request.exptime else {
        return plain(key, request.wants_version, desk, out);
    };
    let mut value = std::mem::take(&mut desk.value);
    let found = desk.session.get_and_touch(key, ttl_of(exptime), &mut value);
    if let Ok(Some(meta)) = found {
        add(key, &value, meta, request.wants_version, out);
    }
    desk.keep_buffer(value);
    let found = found?.is_some();
    // memcached counts it as a touch, and not as a get too.
    desk.counts.add_one(Count::CmdTouch);
    desk.counts.add_found(found, Count::TouchHits, Count::TouchMisses);
    Ok(())
}

/// Reads a value behind the place of its header. The header is likely as long as the last one was; otherwise the value moves.
#[inline]
fn straight(
    key: &[u8],
    wants_version: bool,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Result<bool, Error> {
    let begin = out.len();
    let guess = key.len() + desk.header_len;
    out.resize(begin + guess, 0);
    let Some(meta) = desk.session.get_onto(key, out)? else {
        out.truncate(begin);
        return Ok(false);
    };
    let len = out.len() - begin - guess;
    desk.value_len = len;
    let header = &mut desk.header;
    header.clear();
    let version = wants_version.then_some(meta.version.unwrap_or(NO_VERSION));
    get::encode_header(header, &ValueHeader { key, flags: meta.flags, len, version });
    if header.len() != guess {
        desk.header_len = header.len() - key.len();
        out.resize(begin + len + guess.max(header.len()), 0);
        out.copy_within(begin + guess..begin + guess + len, begin + header.len());
        out.truncate(begin + header.len() + len);
    }
    out[begin..begin + header.len()].copy_from_slice(header);
    out.extend_from_slice(b"\r\n");
    Ok(true)
}

/// Answers several keys; `false` where their values are together too long, and nothing is counted then.
fn many(
    keys: &[&[u8]],
    request: &Request<'_>,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Result<bool, Error> {
    let mut answers = InOrder::behind(out, |_| {});
    desk.session.get_many(keys, &mut |i, value, meta| {
        answers.add(out, i, value.len(), |out| {
            add(keys[i], value, meta, request.wants_version, out);
        });
    })?;
    let hits = answers.finish(out, keys.len());
    if let Some(hits) = hits {
        count_gets(keys.len() as u64, hits, desk);
    }
    Ok(hits.is_some())
}

fn add(key: &[u8], value: &[u8], meta: Meta, wants_version: bool, out: &mut Vec<u8>) {
    let version = wants_version.then_some(meta.version.unwrap_or(NO_VERSION));
    let header = ValueHeader { key, flags: meta.flags, len: value.len(), version };
    get::encode_header(out, &header);
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
