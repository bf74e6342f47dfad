//! `set`, `add`, `replace`, `append`, `prepend`, `cas`.

use larder_protocol::storage::{StorageMode, StorageReply};
use larder_protocol::text::set::{self, Request};
use larder_store::{Error, SetMode, SetOptions, SetOutcome};

use crate::context::{Desk, ttl_of};
use crate::conversation::{Behind, Done, Value};
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
    let keeps = matches!(mode, SetMode::Append | SetMode::Prepend);
    let (ttl, flags) = if keeps { (None, 0) } else { (ttl_of(header.exptime), header.flags) };
    let options = SetOptions { mode, ttl, flags };
    desk.counts.add_one(Count::CmdSet);
    let outcome = check_join(header.key, value.len(), mode, desk)
        .and_then(|()| desk.session.set(header.key, value, &options));
    match outcome {
        Ok(outcome) => {
            count_cas(mode, outcome, desk);
            if outcome.is_stored() {
                desk.shared.recaches.forget(header.key);
            }
            if !request.is_quiet {
                set::encode_reply(out, reply(outcome));
            }
        }
        Err(error) if !request.is_quiet => desk.refuse(out, &error),
        Err(_) => {}
    }
    Done::Whole(len)
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
