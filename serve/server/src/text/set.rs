//! `set`, `add`, `replace`, `append`, `prepend`, `cas`.

use std::ops::Range;

use larder_protocol::storage::{StorageMode, StorageReply, StorageRequest};
use larder_protocol::text;
use larder_protocol::text::set::{self, Request};
use larder_store::{Error, Put, SetMode, SetOptions, SetOutcome};

use super::get::Pipelined;
use crate::context::{Context, Shared, refuse, ttl_of};
use crate::counts::Count;
use crate::limits::TOGETHER;
use crate::payload::{Done, Payload, Value};

pub(super) fn run(
    request: &Request<'_>,
    payload: &Payload<'_>,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Done {
    let header = &request.header;
    let mode = mode(header.mode);
    let len = payload.len_with_end(header.len);
    let value = match request.fault() {
        Some(fault) => Err(fault.line()),
        None => match payload.value(header.key, header.len, mode, context) {
            Value::Complete(value) => Ok(value),
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
    answer(request, value, context, out);
    Done::Answered(len)
}

/// Stores a value that has arrived, and answers its request.
fn answer(request: &Request<'_>, value: &[u8], context: &mut Context, out: &mut Vec<u8>) {
    context.counts.add_one(Count::CmdSet);
    match store(&request.header, value, context) {
        Ok(outcome) if !request.is_quiet => set::encode_reply(out, reply(outcome)),
        Err(error) if !request.is_quiet => context.refuse(out, &error),
        _ => {}
    }
}

/// Stores a value as its request says, and counts the outcome.
pub(crate) fn store(
    header: &StorageRequest<'_>,
    value: &[u8],
    context: &mut Context,
) -> Result<SetOutcome, Error> {
    let options = options(header);
    check_join(header.key, value.len(), options.mode, context)?;
    let outcome = context.session.set(header.key, value, &options)?;
    count_cas(options.mode, outcome, context);
    if outcome.is_stored() {
        context.shared.recaches.forget(header.key);
    }
    Ok(outcome)
}

/// The options of a request. An append or prepend keeps the TTL and the flags of its entry.
fn options(header: &StorageRequest<'_>) -> SetOptions {
    let mode = mode(header.mode);
    let keeps = matches!(mode, SetMode::Append | SetMode::Prepend);
    let (ttl, flags) = if keeps { (None, 0) } else { (ttl_of(header.exptime), header.flags) };
    SetOptions { mode, ttl, flags }
}

/// A plain `set` that has arrived in full, and whose value is not too long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompleteSet<'a> {
    request: Request<'a>,
    value: &'a [u8],
    /// Bytes of the request with its value.
    pub(crate) len: usize,
}

/// The plain `set` at the beginning of `input`; `None` for any other input.
#[inline]
pub(crate) fn complete_set<'a>(input: &'a [u8], shared: &Shared) -> Option<CompleteSet<'a>> {
    let after_verb = input.strip_prefix(b"set ")?;
    let line_len = after_verb.iter().position(|byte| *byte == b'\n')? + 5;
    let line = input[..line_len - 1].strip_suffix(b"\r")?;
    let Ok(text::Request::Set(request)) = text::parse_request(line) else { return None };
    let len = request.header.len;
    let end = line_len.checked_add(len)?;
    let is_plain = request.fault().is_none() && len <= shared.settings.item_bytes;
    let is_whole = is_plain && input.get(end..end + 2) == Some(b"\r\n");
    is_whole.then(|| CompleteSet { request, value: &input[line_len..end], len: end + 2 })
}

/// Stores values by one call of the store. `places[i]` is the part of `out` that answers `sets[i]`.
pub(crate) fn set_for_connections(
    sets: &[CompleteSet<'_>],
    context: &mut Context,
    out: &mut Vec<u8>,
    places: &mut [Range<usize>],
) {
    let none = Put { key: &[], value: &[], options: SetOptions::default() };
    let mut puts = [none; TOGETHER];
    for (put, CompleteSet { request, value, .. }) in puts.iter_mut().zip(sets) {
        *put = Put { key: request.header.key, value, options: options(&request.header) };
    }
    let mut n_done = 0;
    let Context { session, shared, counts, .. } = context;
    let done = session.set_many(&puts[..sets.len()], &mut |i, outcome| {
        let begin = out.len();
        let CompleteSet { request, .. } = &sets[i];
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
    context.counts.add(Count::CmdSet, sets.len() as u64);
    // The store has failed before it came to these.
    for (place, set) in places[..sets.len()].iter_mut().zip(sets).skip(n_done) {
        let begin = out.len();
        if let (Err(error), false) = (&done, set.request.is_quiet) {
            refuse(&context.counts, out, error);
        }
        *place = begin..out.len();
    }
}

/// Answers the plain `set` requests at the beginning of `input`, at most `most`.
#[inline]
pub(crate) fn answer_pipelined_sets(
    input: &[u8],
    most: usize,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Pipelined {
    let Some(first) = complete_set(input, &context.shared) else { return Pipelined::default() };
    let mut sets = [first; TOGETHER];
    let (mut n, mut len) = (1, first.len);
    while n < most.min(TOGETHER) {
        let Some(next) = complete_set(&input[len..], &context.shared) else { break };
        sets[n] = next;
        n += 1;
        len += next.len;
    }
    if n == 1 {
        answer(&first.request, first.value, context, out);
    } else {
        let mut places = [(); TOGETHER].map(|()| 0..0);
        set_for_connections(&sets[..n], context, out, &mut places);
    }
    Pipelined { len, n, n_alone: 0 }
}

/// Refuses an append or prepend that would make the value too large.
#[inline]
pub(crate) fn check_join(
    key: &[u8],
    len: usize,
    mode: SetMode,
    context: &mut Context,
) -> Result<(), Error> {
    if !matches!(mode, SetMode::Append | SetMode::Prepend) {
        return Ok(());
    }
    let there = context.session.look(key)?.map_or(0, |facts| facts.value_len);
    let (len, limit) = (there.saturating_add(len), context.shared.settings.item_bytes);
    let engine = context.session.engine();
    if len > limit { Err(Error::ValueTooLarge { engine, len, limit }) } else { Ok(()) }
}

/// Counts the outcome of a write that had a version for its condition.
pub(crate) fn count_cas(mode: SetMode, outcome: SetOutcome, context: &Context) {
    if let SetMode::Cas(_) = mode {
        context.counts.add_one(match outcome {
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
