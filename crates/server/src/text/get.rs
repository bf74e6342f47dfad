//! `get`, `gets`, `gat`, `gats`.

use larder_protocol::key::MAX_KEY_LEN;
use larder_protocol::request::Fault;
use larder_protocol::text::get::{self, Request, ValueHeader};
use larder_store::{Error, Meta};

use crate::context::{Desk, ttl_of};
use crate::conversation::{ANSWER_BYTES, Done};
use crate::counts::Count;

/// Keys that are looked up together.
const TOGETHER: usize = 16;

/// Values from this length on are read one by one, so that the bytes of an answer stay bounded.
const LONG: usize = 16 << 10;

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
        if left > 0 && (out.len() >= ANSWER_BYTES || desk.turn_is_over()) {
            return Done::Part(left);
        }
    }
    get::encode_end(out);
    Done::Whole(0)
}

/// Answers one key; its value goes straight into the answer.
fn one(key: &[u8], request: &Request<'_>, desk: &mut Desk, out: &mut Vec<u8>) -> Result<(), Error> {
    let Some(exptime) = request.exptime else {
        let found = straight(key, request.wants_version, desk, out)?;
        desk.counts.add_one(Count::CmdGet);
        desk.counts.add_found(found, Count::GetHits, Count::GetMisses);
        return Ok(());
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
    let header = &mut desk.header;
    header.clear();
    let version = wants_version.then_some(meta.version.unwrap_or(0));
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
    let mut hits = 0;
    let most = out.len() + TOGETHER * LONG;
    let mut is_whole = true;
    // Clients find a value by its key, so values need no order.
    desk.session.get_many(keys, &mut |i, value, meta| {
        hits += 1;
        is_whole &= out.len() + value.len() <= most;
        if is_whole {
            add(keys[i], value, meta, request.wants_version, out);
        }
    })?;
    if is_whole {
        let n_keys = keys.len() as u64;
        desk.counts.add(Count::CmdGet, n_keys);
        desk.counts.add(Count::GetHits, hits);
        desk.counts.add(Count::GetMisses, n_keys.saturating_sub(hits));
    }
    Ok(is_whole)
}

fn add(key: &[u8], value: &[u8], meta: Meta, wants_version: bool, out: &mut Vec<u8>) {
    let version = wants_version.then_some(meta.version.unwrap_or(0));
    let header = ValueHeader { key, flags: meta.flags, len: value.len(), version };
    get::encode_header(out, &header);
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
