//! `set`, `add`, `replace`, `append`, `prepend`, `cas`.

use std::ops::Range;

use larder_protocol::storage::{StorageMode, StorageReply, StorageRequest};
use larder_protocol::text;
use larder_protocol::text::set::{self, Request};
use larder_store::{Error, Put, SetMode, SetOptions, SetOutcome};

use super::get::{Pipelined, TOGETHER};
use crate::behind::{Behind, Done, Value};
use crate::context::{Desk, Shared, refuse, ttl_of};
use crate::counts::Count;

pub(super) fn run(
    request: &Request<'_>,
    behind: &Behind<'_>,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Done {
    let header = &request.header;
    let mode = mode(header.mode);
    let len = behind.with_end(header.len);
    let value = match request.fault() {
        Some(fault) => Err(fault.line()),
        None => match behind.value(header.key, header.len, mode, desk) {
            Value::Whole(value) => Ok(value),
            Value::Needs(len) => return Done::Needs(len),
            Value::Refused(refusal) => Err(refusal.line()),
        },
    };
    let value = match value {
        Ok(value) => value,
        Err(line) => {
            if !request.is_quiet {
                out.extend_from_slice(line);
            }
            return Done::Skip(len);
        }
    };
    answer(request, value, desk, out);
    Done::Whole(len)
}

/// Stores a value that has arrived, and answers its request.
fn answer(request: &Request<'_>, value: &[u8], desk: &mut Desk, out: &mut Vec<u8>) {
    desk.counts.add_one(Count::CmdSet);
    match store(&request.header, value, desk) {
        Ok(outcome) if !request.is_quiet => set::encode_reply(out, reply(outcome)),
        Err(error) if !request.is_quiet => desk.refuse(out, &error),
        _ => {}
    }
}

/// Stores a value as its request says, and counts the outcome.
pub(crate) fn store(
    header: &StorageRequest<'_>,
    value: &[u8],
    desk: &mut Desk,
) -> Result<SetOutcome, Error> {
    let options = options(header);
    check_join(header.key, value.len(), options.mode, desk)?;
    let outcome = desk.session.set(header.key, value, &options)?;
    count_cas(options.mode, outcome, desk);
    if outcome.is_stored() {
        desk.shared.recaches.forget(header.key);
    }
    Ok(outcome)
}

/// The options of a request. What is put behind or before a value keeps the end and the flags of its entry.
fn options(header: &StorageRequest<'_>) -> SetOptions {
    let mode = mode(header.mode);
    let keeps = matches!(mode, SetMode::Append | SetMode::Prepend);
    let (ttl, flags) = if keeps { (None, 0) } else { (ttl_of(header.exptime), header.flags) };
    SetOptions { mode, ttl, flags }
}

/// A plain `set` that has arrived whole, with a value of a length that is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole<'a> {
    request: Request<'a>,
    value: &'a [u8],
    /// Bytes of the request with its value.
    pub(crate) len: usize,
}

/// The plain `set` at the beginning of `input`. `None` leaves any other input to the usual way.
#[inline]
pub(crate) fn whole<'a>(input: &'a [u8], shared: &Shared) -> Option<Whole<'a>> {
    let after_verb = input.strip_prefix(b"set ")?;
    let line_len = after_verb.iter().position(|byte| *byte == b'\n')? + 5;
    let line = input[..line_len - 1].strip_suffix(b"\r")?;
    let Ok(text::Request::Set(request)) = text::parse_request(line) else { return None };
    let len = request.header.len;
    let end = line_len.checked_add(len)?;
    let is_plain = request.fault().is_none() && len <= shared.settings.item_bytes;
    let is_whole = is_plain && input.get(end..end + 2) == Some(b"\r\n");
    is_whole.then(|| Whole { request, value: &input[line_len..end], len: end + 2 })
}

/// Stores values by one call of the store. `places[i]` is the part of `out` that answers `sets[i]`.
pub(crate) fn set_apart(
    sets: &[Whole<'_>],
    desk: &mut Desk,
    out: &mut Vec<u8>,
    places: &mut [Range<usize>],
) {
    let none = Put { key: &[], value: &[], options: SetOptions::default() };
    let mut puts = [none; TOGETHER];
    for (put, Whole { request, value, .. }) in puts.iter_mut().zip(sets) {
        *put = Put { key: request.header.key, value, options: options(&request.header) };
    }
    let mut n_done = 0;
    let Desk { session, shared, counts, .. } = desk;
    let done = session.set_many(&puts[..sets.len()], &mut |i, outcome| {
        let begin = out.len();
        let Whole { request, .. } = &sets[i];
        match outcome {
            Ok(outcome) => {
                shared.recaches.forget(request.header.key);
                if !request.is_quiet {
                    set::encode_reply(out, reply(outcome));
                }
            }
            Err(error) if !request.is_quiet => refuse(counts, out, &error),
            Err(_) => {}
        }
        places[i] = begin..out.len();
        n_done = i + 1;
    });
    desk.counts.add(Count::CmdSet, sets.len() as u64);
    // The store has failed before it came to these.
    for (place, set) in places[..sets.len()].iter_mut().zip(sets).skip(n_done) {
        let begin = out.len();
        if let (Err(error), false) = (&done, set.request.is_quiet) {
            refuse(&desk.counts, out, error);
        }
        *place = begin..out.len();
    }
}

/// Answers the plain `set` requests at the beginning of `input`, at most so many.
#[inline]
pub(crate) fn pipelined_sets(
    input: &[u8],
    most: usize,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Pipelined {
    let Some(first) = whole(input, &desk.shared) else { return Pipelined::default() };
    let mut sets = [first; TOGETHER];
    let (mut n, mut len) = (1, first.len);
    while n < most.min(TOGETHER) {
        let Some(next) = whole(&input[len..], &desk.shared) else { break };
        sets[n] = next;
        n += 1;
        len += next.len;
    }
    if n == 1 {
        answer(&first.request, first.value, desk, out);
    } else {
        let mut places = [(); TOGETHER].map(|()| 0..0);
        set_apart(&sets[..n], desk, out, &mut places);
    }
    Pipelined { len, n, n_alone: 0 }
}

/// Refuses what would make a value too large when it is put behind or before it.
#[inline]
pub(crate) fn check_join(
    key: &[u8],
    len: usize,
    mode: SetMode,
    desk: &mut Desk,
) -> Result<(), Error> {
    if !matches!(mode, SetMode::Append | SetMode::Prepend) {
        return Ok(());
    }
    let there = desk.session.look(key)?.map_or(0, |facts| facts.value_len);
    let (len, limit) = (there.saturating_add(len), desk.shared.settings.item_bytes);
    let engine = desk.session.engine();
    if len > limit { Err(Error::ValueTooLarge { engine, len, limit }) } else { Ok(()) }
}

/// Counts the outcome of a write that had a version for its condition.
pub(crate) fn count_cas(mode: SetMode, outcome: SetOutcome, desk: &Desk) {
    if let SetMode::Cas(_) = mode {
        desk.counts.add_one(match outcome {
            SetOutcome::Stored(_) => Count::CasHits,
            SetOutcome::Exists => Count::CasBadval,
            SetOutcome::NotStored | SetOutcome::NotFound => Count::CasMisses,
        });
    }
}

/// The store's mode of a mode on the wire.
pub(crate) fn mode(mode: StorageMode) -> SetMode {
    match mode {
        StorageMode::Set => SetMode::Set,
        StorageMode::Add => SetMode::Add,
        StorageMode::Replace => SetMode::Replace,
        StorageMode::Append => SetMode::Append,
        StorageMode::Prepend => SetMode::Prepend,
        StorageMode::Cas(version) => SetMode::Cas(version),
    }
}

/// The outcome on the wire of a store's outcome.
pub(crate) fn reply(outcome: SetOutcome) -> StorageReply {
    match outcome {
        SetOutcome::Stored(version) => StorageReply::Stored(version),
        SetOutcome::NotStored => StorageReply::NotStored,
        SetOutcome::Exists => StorageReply::Exists,
        SetOutcome::NotFound => StorageReply::NotFound,
    }
}
