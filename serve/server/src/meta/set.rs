//! `ms`.

use larder_protocol::key::MAX_KEY_LEN;
use larder_protocol::meta::request::{Facts, Request};
use larder_protocol::meta::set::{self, SetRequest};
use larder_store::{Error, SetMode, SetOptions, SetOutcome};

use crate::conditional;
use crate::context::{Context, NO_VERSION, ttl_of};
use crate::counts::Count;
use crate::payload::{Done, Payload, Value};
use crate::text::{check_join, count_cas, mode, reply};

pub(super) fn run(
    set: &SetRequest<'_>,
    payload: &Payload<'_>,
    context: &mut Context,
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
            return Done::Skip(payload.len_with_end(set.len));
        }
    };
    let value = match payload.value(key, set.len, mode, context) {
        Value::Complete(value) => value,
        Value::Needs(len) => return Done::Needs(len),
        Value::Refused(refusal) => {
            out.extend_from_slice(refusal.line());
            return Done::Skip(payload.len_with_end(set.len));
        }
    };
    context.counts.add_one(Count::CmdSet);
    match store(&request, key, value, mode, context) {
        Ok(outcome) => {
            count_cas(mode, outcome, context);
            if outcome.is_stored() {
                context.shared.recaches.forget(key);
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
        Err(error) => context.refuse(out, &error),
    }
    Done::Answered(payload.len_with_end(set.len))
}

fn store(
    request: &Request<'_>,
    key: &[u8],
    value: &[u8],
    mode: SetMode,
    context: &mut Context,
) -> Result<SetOutcome, Error> {
    let flags = &request.flags;
    if flags.new_version.is_some() || (flags.invalidates && flags.version.is_some()) {
        let operation = "a version that the client chooses, or a stale value from an older one";
        return Err(context.unsupported(operation));
    }
    let keeps = matches!(mode, SetMode::Append | SetMode::Prepend);
    let ttl = flags.exptime.filter(|_| !keeps).and_then(ttl_of);
    let client_flags = if keeps { 0 } else { flags.client_flags };
    let options = SetOptions { mode, ttl, flags: client_flags };
    if let Some(outcome) = filled(key, value, &options, context)? {
        return Ok(outcome);
    }
    check_join(key, value.len(), mode, context)?;
    let store = |options: &SetOptions, context: &mut Context| match flags.version {
        // Where an entry is there, an add is lost whatever its version.
        Some(version) if matches!(options.mode, SetMode::Append | SetMode::Prepend) => {
            conditional::join(key, value, mode, version, context)
        }
        _ => context.session.set(key, value, options),
    };
    let Some(exptime) = flags.vivify.filter(|_| keeps) else {
        return store(&options, context);
    };
    // An absent entry gets the value that was to be appended or prepended. If another client creates or removes the entry in
    // between, neither call stores anything, and the next round finds the new state.
    let ttl = ttl_of(exptime);
    let made = SetOptions { mode: SetMode::Add, ttl, flags: flags.client_flags };
    loop {
        for options in [&options, &made] {
            let outcome = store(options, context)?;
            if outcome != SetOutcome::NotStored {
                return Ok(outcome);
            }
        }
    }
}

/// Stores the value of a client that holds a lease; `None` if the version is no lease.
fn filled(
    key: &[u8],
    value: &[u8],
    options: &SetOptions,
    context: &mut Context,
) -> Result<Option<SetOutcome>, Error> {
    let SetMode::Cas(version) = options.mode else { return Ok(None) };
    let Some(token) = context.shared.client_leases.take(key, version) else { return Ok(None) };
    let options = SetOptions { mode: SetMode::Set, ..*options };
    let Some(leases) = context.session.leases() else { return Ok(None) };
    Ok(Some(match leases.fill(key, value, &options, &token)? {
        // Another client has changed the key meanwhile.
        SetOutcome::NotStored => SetOutcome::Exists,
        outcome => outcome,
    }))
}
