//! `ms`.

use larder_protocol::key::MAX_KEY_LEN;
use larder_protocol::meta::request::{Facts, Request};
use larder_protocol::meta::set::{self, SetRequest};
use larder_store::{Error, SetMode, SetOptions, SetOutcome};

use crate::behind::{Behind, Done, Value};
use crate::conditional;
use crate::context::{Desk, NO_VERSION, ttl_of};
use crate::counts::Count;
use crate::text::{check_join, count_cas, mode, reply};

pub(super) fn run(
    set: &SetRequest<'_>,
    behind: &Behind<'_>,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Done {
    let mut key_buffer = [0; MAX_KEY_LEN];
    let checked = set.request.and_then(|request| {
        let key = request.key(&mut key_buffer)?;
        Ok((request, key, mode(set::mode(&request.flags)?)))
    });
    let (request, key, mode) = match checked {
        Ok(checked) => checked,
        Err(fault) => {
            out.extend_from_slice(fault.line());
            return Done::Skip(behind.with_end(set.len));
        }
    };
    let value = match behind.value(key, set.len, mode, desk) {
        Value::Whole(value) => value,
        Value::Needs(len) => return Done::Needs(len),
        Value::Refused(refusal) => {
            out.extend_from_slice(refusal.line());
            return Done::Skip(behind.with_end(set.len));
        }
    };
    desk.counts.add_one(Count::CmdSet);
    match store(&request, key, value, mode, desk) {
        Ok(outcome) => {
            count_cas(mode, outcome, desk);
            if outcome.is_stored() {
                desk.shared.recaches.forget(key);
            }
            if !(request.flags.is_quiet && outcome.is_stored()) {
                let version = match outcome {
                    SetOutcome::Stored(version) => version.unwrap_or(NO_VERSION),
                    _ => 0,
                };
                let facts = Facts { version, len: value.len(), ..Facts::default() };
                set::encode_reply(out, &request, reply(outcome), &facts);
            }
        }
        Err(error) => desk.refuse(out, &error),
    }
    Done::Whole(behind.with_end(set.len))
}

fn store(
    request: &Request<'_>,
    key: &[u8],
    value: &[u8],
    mode: SetMode,
    desk: &mut Desk,
) -> Result<SetOutcome, Error> {
    let flags = &request.flags;
    if flags.new_version.is_some() || (flags.invalidates && flags.version.is_some()) {
        let operation = "a version that the client chooses, or a stale value from an older one";
        return Err(desk.unsupported(operation));
    }
    let keeps = matches!(mode, SetMode::Append | SetMode::Prepend);
    let ttl = flags.exptime.filter(|_| !keeps).and_then(ttl_of);
    let client_flags = if keeps { 0 } else { flags.client_flags };
    let options = SetOptions { mode, ttl, flags: client_flags };
    if let Some(outcome) = filled(key, value, &options, desk)? {
        return Ok(outcome);
    }
    check_join(key, value.len(), mode, desk)?;
    let store = |options: &SetOptions, desk: &mut Desk| match flags.version {
        // Where an entry is there, an add is lost whatever its version.
        Some(version) if matches!(options.mode, SetMode::Append | SetMode::Prepend) => {
            conditional::join(key, value, mode, version, desk)
        }
        _ => desk.session.set(key, value, options),
    };
    let Some(exptime) = flags.vivify.filter(|_| keeps) else {
        return store(&options, desk);
    };
    // An absent entry is made by what was to stand behind or before its value. Where another client makes the entry in
    // between, or removes it, neither call stores anything, and the next turn finds what that client has left.
    let ttl = ttl_of(exptime);
    let made = SetOptions { mode: SetMode::Add, ttl, flags: flags.client_flags };
    loop {
        for options in [&options, &made] {
            let outcome = store(options, desk)?;
            if outcome != SetOutcome::NotStored {
                return Ok(outcome);
            }
        }
    }
}

/// Stores the value of a client that was told to load it; `None` where the version is no lease.
fn filled(
    key: &[u8],
    value: &[u8],
    options: &SetOptions,
    desk: &mut Desk,
) -> Result<Option<SetOutcome>, Error> {
    let SetMode::Cas(version) = options.mode else { return Ok(None) };
    let Some(token) = desk.shared.loads.take(key, version) else { return Ok(None) };
    let options = SetOptions { mode: SetMode::Set, ..*options };
    let Some(leases) = desk.session.leases() else { return Ok(None) };
    Ok(Some(match leases.fill(key, value, &options, &token)? {
        // Somebody has changed the key meanwhile.
        SetOutcome::NotStored => SetOutcome::Exists,
        outcome => outcome,
    }))
}
