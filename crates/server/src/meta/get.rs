//! `mg`.

use std::time::Duration;

use larder_protocol::meta::get::{self, Claim};
use larder_protocol::meta::request::{Facts, Request};
use larder_store::{Error, Leased, Meta, Remaining};

use crate::behind::Done;
use crate::context::{Desk, NO_VERSION, seconds_left, ttl_of};
use crate::counts::Count;

/// The time for which one client is told to load a value that is out of date, unless it says otherwise.
const LOAD_TIME: Duration = Duration::from_secs(30);

pub(super) fn run(request: &Request<'_>, key: &[u8], desk: &mut Desk, out: &mut Vec<u8>) -> Done {
    let mut value = std::mem::take(&mut desk.value);
    value.clear();
    let found = found(request, key, desk, &mut value);
    match found {
        Ok(Some(found)) => {
            // memcached counts a hit that gets a new TTL as a touch, and not as a get too.
            let (command, hit) = match request.flags.exptime {
                Some(_) => (Count::CmdTouch, Count::TouchHits),
                None => (Count::CmdGet, Count::GetHits),
            };
            desk.counts.add_one(command);
            desk.counts.add_one(hit);
            get::encode_reply(out, request, &found.facts, found.claim);
            if request.flags.wants_value {
                out.extend_from_slice(&value);
                out.extend_from_slice(get::TAIL);
            }
        }
        Ok(None) => {
            desk.counts.add_one(Count::CmdGet);
            desk.counts.add_one(Count::GetMisses);
            if !request.flags.is_quiet {
                get::encode_miss(out, request);
            }
        }
        Err(error) => desk.refuse(out, &error),
    }
    desk.keep_buffer(value);
    Done::Whole(0)
}

/// An entry, and whether this client or another is to load it.
struct Found {
    facts: Facts,
    claim: Claim,
}

fn found(
    request: &Request<'_>,
    key: &[u8],
    desk: &mut Desk,
    value: &mut Vec<u8>,
) -> Result<Option<Found>, Error> {
    let flags = &request.flags;
    if flags.new_version.is_some() {
        return Err(desk.unsupported("a version that the client chooses"));
    }
    // What the server knows of earlier reads is asked before this one.
    let past = if flags.wants_past { desk.session.look(key)? } else { None };
    let (meta, mut claim) = if let Some(exptime) = flags.vivify {
        let found = leased(key, ttl_of(exptime).unwrap_or(LOAD_TIME), desk, value)?;
        if let (Some(exptime), Claim::Fresh) = (flags.exptime, found.1) {
            desk.session.touch(key, ttl_of(exptime))?;
        }
        found
    } else {
        let meta = if let Some(exptime) = flags.exptime {
            desk.session.get_and_touch(key, ttl_of(exptime), value)?
        } else {
            desk.session.get(key, value)?
        };
        let Some(meta) = meta else { return Ok(None) };
        if meta.stale && desk.shared.abilities.leases {
            leased(key, LOAD_TIME, desk, value)?
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
                desk.shared.recaches.claim(key, left)
            }
            // Everybody is told that a client is about to load it.
            _ if desk.shared.recaches.is_claimed(key) => Claim::Sent,
            _ => Claim::Fresh,
        };
    }
    Ok(Some(Found { facts, claim }))
}

fn below(left: Duration, least_s: i64) -> bool {
    u64::try_from(least_s).is_ok_and(|least| left < Duration::from_secs(least))
}

/// An entry of which one client is told to load it, if it is absent or out of date.
fn leased(
    key: &[u8],
    time: Duration,
    desk: &mut Desk,
    value: &mut Vec<u8>,
) -> Result<(Meta, Claim), Error> {
    let Some(leases) = desk.session.leases() else {
        return Err(desk.unsupported("a load by one client"));
    };
    Ok(match leases.get_or_lease(key, value, time)? {
        Leased::Hit(meta) => (meta, Claim::Fresh),
        Leased::Load { token, stale } => {
            // The winner stores on condition of this version.
            let version = Some(desk.shared.loads.add(key, token, time));
            let claim = if stale.is_some() { Claim::StaleWon } else { Claim::Won };
            (Meta { version, ..stale.unwrap_or_else(|| absent(time)) }, claim)
        }
        Leased::Wait { stale: Some(meta) } => (meta, Claim::StaleSent),
        Leased::Wait { stale: None } => (absent(time), Claim::Sent),
    })
}

/// What is known of an entry that somebody is about to load.
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
