//! `mg`.

use std::time::Duration;

use larder_protocol::meta::get::{self, Claim};
use larder_protocol::meta::request::{Facts, Request};
use larder_store::{Error, Leased, Meta, Remaining};

use crate::context::{Context, NO_VERSION, seconds_left, ttl_of};
use crate::counts::Count;
use crate::payload::Done;

/// The time of a lease on a stale value, unless the client names another.
const LOAD_TIME: Duration = Duration::from_secs(30);

pub(super) fn run(
    request: &Request<'_>,
    key: &[u8],
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Done {
    let mut value = std::mem::take(&mut context.value);
    value.clear();
    let found = find(request, key, context, &mut value);
    match found {
        Ok(Some(found)) => {
            // memcached counts a hit that gets a new TTL as a touch, and not as a get too.
            let (command, hit) = match request.flags.exptime {
                Some(_) => (Count::CmdTouch, Count::TouchHits),
                None => (Count::CmdGet, Count::GetHits),
            };
            context.counts.add_one(command);
            context.counts.add_one(hit);
            get::encode_reply(out, request, &found.facts, found.claim);
            if request.flags.wants_value {
                out.extend_from_slice(&value);
                out.extend_from_slice(get::TAIL);
            }
        }
        Ok(None) => {
            context.counts.add_one(Count::CmdGet);
            context.counts.add_one(Count::GetMisses);
            if !request.flags.is_quiet {
                get::encode_miss(out, request);
            }
        }
        Err(error) => context.refuse(out, &error),
    }
    context.keep_buffer(value);
    Done::Answered(0)
}

/// An entry, and whether this client or another loads it.
struct Hit {
    facts: Facts,
    claim: Claim,
}

fn find(
    request: &Request<'_>,
    key: &[u8],
    context: &mut Context,
    value: &mut Vec<u8>,
) -> Result<Option<Hit>, Error> {
    let flags = &request.flags;
    if flags.new_version.is_some() {
        return Err(context.unsupported("a version that the client chooses"));
    }
    // The facts of earlier reads are asked for before this read changes them.
    let past = if flags.wants_past { context.session.look(key)? } else { None };
    let (meta, mut claim) = if let Some(exptime) = flags.vivify {
        let found = get_or_lease(key, ttl_of(exptime).unwrap_or(LOAD_TIME), context, value)?;
        if let (Some(exptime), Claim::Fresh) = (flags.exptime, found.1) {
            context.session.touch(key, ttl_of(exptime))?;
        }
        found
    } else {
        let meta = if let Some(exptime) = flags.exptime {
            context.session.get_and_touch(key, ttl_of(exptime), value)?
        } else {
            context.session.get(key, value)?
        };
        let Some(meta) = meta else { return Ok(None) };
        if meta.stale && context.shared.abilities.leases {
            get_or_lease(key, LOAD_TIME, context, value)?
        } else {
            (meta, Claim::Fresh)
        }
    };
    let mut facts = facts(meta, value.len());
    if let Some(past) = past {
        facts.idle_s = past.idle.map_or(0, |idle| idle.as_secs());
        facts.was_hit = past.was_hit.unwrap_or(false);
    }
    if claim == Claim::Fresh {
        claim = match (flags.recache_s, meta.ttl) {
            (Some(least), Remaining::For(left)) if below(left, least) => {
                context.shared.recaches.claim(key, left)
            }
            // All clients learn that one is loading it.
            _ if context.shared.recaches.is_claimed(key) => Claim::Sent,
            _ => Claim::Fresh,
        };
    }
    Ok(Some(Hit { facts, claim }))
}

fn below(left: Duration, least_s: i64) -> bool {
    u64::try_from(least_s).is_ok_and(|least| left < Duration::from_secs(least))
}

/// Reads an entry; one client gets the lease if it is absent or stale.
fn get_or_lease(
    key: &[u8],
    time: Duration,
    context: &mut Context,
    value: &mut Vec<u8>,
) -> Result<(Meta, Claim), Error> {
    let Some(leases) = context.session.leases() else {
        return Err(context.unsupported("a load by one client"));
    };
    Ok(match leases.get_or_lease(key, value, time)? {
        Leased::Hit(meta) => (meta, Claim::Fresh),
        Leased::Load { token, stale } => {
            // The winner stores on condition of this version.
            let version = Some(context.shared.client_leases.add(key, token, time));
            let claim = if stale.is_some() { Claim::StaleWon } else { Claim::Won };
            (Meta { version, ..stale.unwrap_or_else(|| absent(time)) }, claim)
        }
        Leased::Wait { stale: Some(meta) } => (meta, Claim::StaleSent),
        Leased::Wait { stale: None } => (absent(time), Claim::Sent),
    })
}

/// The facts of an entry that a client is loading.
fn absent(time: Duration) -> Meta {
    Meta { ttl: Remaining::For(time), ..Meta::default() }
}

fn facts(meta: Meta, len: usize) -> Facts {
    Facts {
        client_flags: meta.flags,
        version: meta.version.unwrap_or(NO_VERSION),
        ttl_s: seconds_left(meta.ttl),
        len,
        ..Facts::default()
    }
}
