//! `ma`.

use larder_protocol::meta::arithmetic;
use larder_protocol::meta::request::{Facts, Request};
use larder_store::{Delta, Error, Initial};

use crate::conditional::{self, ConditionalCount, CountOutcome};
use crate::context::{Context, NO_VERSION, seconds_left, ttl_of};
use crate::payload::Done;
use crate::text::count;

pub(super) fn run(
    request: &Request<'_>,
    key: &[u8],
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Done {
    let flags = &request.flags;
    let is_down = match arithmetic::is_down(flags) {
        Ok(is_down) => is_down,
        Err(fault) => return Done::Refused(fault),
    };
    match change(request, key, is_down, context) {
        Ok((CountOutcome::Counted(counted), ttl_s)) => {
            count(true, is_down, context);
            if !flags.is_quiet {
                let version = counted.version.unwrap_or(NO_VERSION);
                let facts = Facts { version, ttl_s, ..Facts::default() };
                arithmetic::encode_reply(out, request, counted.number, &facts);
            }
        }
        Ok((CountOutcome::Exists, _)) => arithmetic::encode_exists(out, request),
        Ok((CountOutcome::NotFound, _)) => {
            count(false, is_down, context);
            arithmetic::encode_miss(out, request);
        }
        Err(error) => context.refuse(out, &error),
    }
    Done::Answered(0)
}

/// The outcome, and the seconds that the entry has left.
fn change(
    request: &Request<'_>,
    key: &[u8],
    is_down: bool,
    context: &mut Context,
) -> Result<(CountOutcome, i64), Error> {
    let flags = &request.flags;
    if flags.new_version.is_some() {
        return Err(context.unsupported("a version that the client chooses"));
    }
    let delta = flags.delta.unwrap_or(1);
    let delta = if is_down { Delta::Down(delta) } else { Delta::Up(delta) };
    let initial = |exptime| Initial { number: flags.initial.unwrap_or(0), ttl: ttl_of(exptime) };
    let (absent, exptime) = (flags.vivify.map(initial), flags.exptime);
    let abilities = &context.shared.abilities;
    let may_change = abilities.version && abilities.ttl_left;
    let outcome = if flags.version.is_some() || (exptime.is_some() && may_change) {
        let count = ConditionalCount { delta, version: flags.version, absent, exptime };
        conditional::count(key, count, context)?
    } else {
        let counted = context.session.incr(key, delta, absent)?;
        if let (Some(_), Some(exptime)) = (counted, exptime) {
            context.session.touch(key, ttl_of(exptime))?;
        }
        counted.map_or(CountOutcome::NotFound, CountOutcome::Counted)
    };
    let ttl_s = match request.asks_for(b't').then(|| context.session.look(key)).transpose()? {
        Some(Some(facts)) => seconds_left(facts.meta.ttl),
        _ => -1,
    };
    Ok((outcome, ttl_s))
}
