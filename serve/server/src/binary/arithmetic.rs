//! `INCREMENT`, `DECREMENT` and their quiet variants.

use larder_protocol::binary::arithmetic::{self, Request};
use larder_protocol::binary::reply::encode_error;
use larder_protocol::binary::{Echo, Status};
use larder_protocol::meta::arithmetic::Changed;
use larder_store::{Delta, Error, Initial};

use super::refusal::refuse;
use crate::conditional::{self, ConditionalCount, CountOutcome};
use crate::context::{Context, NO_VERSION, ttl_of};
use crate::text;

pub(super) fn run(echo: Echo, request: &Request<'_>, context: &mut Context, out: &mut Vec<u8>) {
    let is_down = request.change.is_down;
    match apply(request, context) {
        Ok(CountOutcome::Counted(counted)) => {
            text::count(true, is_down, context);
            let version = counted.version.or(Some(NO_VERSION));
            arithmetic::encode_reply(out, echo, Changed { number: counted.number, version });
        }
        Ok(CountOutcome::NotFound) => {
            text::count(false, is_down, context);
            arithmetic::encode_miss(out, echo);
        }
        Ok(CountOutcome::Exists) => encode_error(out, echo, Status::Exists),
        Err(error) => refuse(echo, &error, context, out),
    }
}

fn apply(request: &Request<'_>, context: &mut Context) -> Result<CountOutcome, Error> {
    let change = &request.change;
    let delta = if change.is_down { Delta::Down(change.delta) } else { Delta::Up(change.delta) };
    let absent = change.absent.map(|(number, exptime)| Initial { number, ttl: ttl_of(exptime) });
    if request.version.is_some() {
        let count = ConditionalCount { delta, version: request.version, absent, exptime: None };
        return conditional::count(request.key, count, context);
    }
    let counted = context.session.incr(request.key, delta, absent)?;
    Ok(counted.map_or(CountOutcome::NotFound, CountOutcome::Counted))
}
