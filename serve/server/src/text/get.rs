//! `get`, `gets`, `gat`, `gats`.

use std::ops::Range;

use larder_protocol::key::MAX_KEY_LEN;
use larder_protocol::request::Fault;
use larder_protocol::text::get::{self, Request, ValueHeader};
use larder_store::{Error, Meta};

use super::in_order::InOrder;
use crate::context::{Context, NO_VERSION, ttl_of};
use crate::counts::Count;
use crate::limits::{ANSWER_BYTES, LONG, TOGETHER};
use crate::payload::Done;

/// Keys of one request that are answered before other connections have their turn.
const KEYS_PER_TURN: usize = 1024;

pub(super) fn run(
    request: &Request<'_>,
    unanswered: usize,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Done {
    let mut keys = request.keys;
    if unanswered > 0 {
        keys = keys.last_bytes(unanswered);
    } else if keys.into_iter().any(|key| key.len() > MAX_KEY_LEN) {
        return Done::Refused(Fault::Format);
    }
    // The first key shows how long values are.
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
            [key] => append_one(key, request, context, out).map(|()| true),
            keys => append_many(keys, request, context, out),
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
                context.refuse(out, &error);
                return Done::Answered(0);
            }
        }
        let left = keys.left();
        n_answered += n_keys;
        let is_enough = n_answered >= KEYS_PER_TURN || context.turn_is_over();
        if left > 0 && (is_enough || out.len() >= ANSWER_BYTES) {
            return Done::Partial(left);
        }
    }
    get::encode_end(out);
    Done::Answered(0)
}

/// Requests that have been answered together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pipelined {
    /// Their bytes.
    pub(crate) len: usize,
    /// Their number; 0 where there are none.
    pub(crate) n: usize,
    /// Reads after them that are answered one by one, because all values were too long for one answer.
    pub(crate) n_alone: usize,
}

/// Answers the plain `get` requests of one key each at the beginning of `input`, at most `most`, by one call of the store.
#[inline]
pub(crate) fn answer_pipelined_gets(
    input: &[u8],
    most: usize,
    context: &mut Context,
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
    if n_keys > 1 && answer_all(keys, context, out) {
        return Pipelined { len, n: n_keys, n_alone: 0 };
    }
    let Some(key) = keys.first() else { return Pipelined::default() };
    answer_single(key, context, out);
    Pipelined { len: first_len, n: 1, n_alone: n_keys - 1 }
}

/// Answers the keys of different connections. `places[i]` is the part of `out` that answers `keys[i]`. `false` if their values
/// are together too long, or the store fails.
pub(crate) fn get_for_connections(
    keys: &[&[u8]],
    context: &mut Context,
    out: &mut Vec<u8>,
    places: &mut [Range<usize>],
) -> bool {
    let most = out.len() + TOGETHER * LONG;
    let (mut hits, mut is_right) = (0, true);
    let miss = out.len();
    get::encode_end(out);
    places.fill(miss..out.len());
    let longest = &mut context.value_len;
    let found = context.session.get_many(keys, &mut |i, value, meta| {
        *longest = value.len();
        is_right &= out.len() + value.len() <= most;
        if is_right {
            let begin = out.len();
            append_value(keys[i], value, meta, false, out);
            get::encode_end(out);
            places[i] = begin..out.len();
            hits += 1;
        }
    });
    let is_right = is_right && found.is_ok();
    if is_right {
        count_gets(keys.len() as u64, hits, context);
    }
    is_right
}

fn count_gets(n_keys: u64, hits: u64, context: &Context) {
    context.counts.add(Count::CmdGet, n_keys);
    context.counts.add(Count::GetHits, hits);
    context.counts.add(Count::GetMisses, n_keys.saturating_sub(hits));
}

/// Answers a request for one key.
#[inline]
fn answer_single(key: &[u8], context: &mut Context, out: &mut Vec<u8>) {
    let begin = out.len();
    match append_counted(key, false, context, out) {
        Ok(()) => get::encode_end(out),
        Err(error) => {
            out.truncate(begin);
            context.refuse(out, &error);
        }
    }
}

/// Answers one key, and counts it.
#[inline]
fn append_counted(
    key: &[u8],
    wants_version: bool,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let is_found = append_in_place(key, wants_version, context, out)?;
    count_gets(1, u64::from(is_found), context);
    Ok(())
}

/// Answers keys, each as a request of its own. `false`, and no answer, if the values are together too long or the store fails:
/// then each request is answered alone.
fn answer_all(keys: &[&[u8]], context: &mut Context, out: &mut Vec<u8>) -> bool {
    let begin = out.len();
    let mut answers = InOrder::after(out, get::encode_end);
    let found = context.session.get_many(keys, &mut |i, value, meta| {
        answers.add(out, i, value.len(), |out| {
            append_value(keys[i], value, meta, false, out);
            get::encode_end(out);
        });
    });
    let hits = found.ok().and_then(|()| answers.finish(out, keys.len()));
    let Some(hits) = hits else {
        out.truncate(begin);
        return false;
    };
    count_gets(keys.len() as u64, hits, context);
    true
}

/// Answers one key; its value goes straight into the answer.
fn append_one(
    key: &[u8],
    request: &Request<'_>,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let Some(exptime) = request.exptime else {
        return append_counted(key, request.wants_version, context, out);
    };
    let mut value = std::mem::take(&mut context.value);
    let found = context.session.get_and_touch(key, ttl_of(exptime), &mut value);
    if let Ok(Some(meta)) = found {
        append_value(key, &value, meta, request.wants_version, out);
    }
    context.keep_buffer(value);
    let found = found?.is_some();
    // memcached counts it as a touch, and not as a get too.
    context.counts.add_one(Count::CmdTouch);
    context.counts.add_found(found, Count::TouchHits, Count::TouchMisses);
    Ok(())
}

/// Reads a value behind the place of its header. The header is likely as long as the last one was; otherwise the value moves.
#[inline]
fn append_in_place(
    key: &[u8],
    wants_version: bool,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Result<bool, Error> {
    let begin = out.len();
    let guess = key.len() + context.header_len;
    out.resize(begin + guess, 0);
    let Some(meta) = context.session.get_onto(key, out)? else {
        out.truncate(begin);
        return Ok(false);
    };
    let len = out.len() - begin - guess;
    context.value_len = len;
    let header = &mut context.header;
    header.clear();
    let version = wants_version.then_some(meta.version.unwrap_or(NO_VERSION));
    get::encode_header(header, &ValueHeader { key, flags: meta.flags, len, version });
    if header.len() != guess {
        context.header_len = header.len() - key.len();
        out.resize(begin + len + guess.max(header.len()), 0);
        out.copy_within(begin + guess..begin + guess + len, begin + header.len());
        out.truncate(begin + header.len() + len);
    }
    out[begin..begin + header.len()].copy_from_slice(header);
    out.extend_from_slice(b"\r\n");
    Ok(true)
}

/// Answers several keys; `false` where their values are together too long, and nothing is counted then.
fn append_many(
    keys: &[&[u8]],
    request: &Request<'_>,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Result<bool, Error> {
    let mut answers = InOrder::after(out, |_| {});
    context.session.get_many(keys, &mut |i, value, meta| {
        answers.add(out, i, value.len(), |out| {
            append_value(keys[i], value, meta, request.wants_version, out);
        });
    })?;
    let hits = answers.finish(out, keys.len());
    if let Some(hits) = hits {
        count_gets(keys.len() as u64, hits, context);
    }
    Ok(hits.is_some())
}

fn append_value(key: &[u8], value: &[u8], meta: Meta, wants_version: bool, out: &mut Vec<u8>) {
    let version = wants_version.then_some(meta.version.unwrap_or(NO_VERSION));
    let header = ValueHeader { key, flags: meta.flags, len: value.len(), version };
    get::encode_header(out, &header);
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
