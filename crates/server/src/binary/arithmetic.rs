//! `INCREMENT`, `DECREMENT` and their quiet variants.

use larder_protocol::binary::arithmetic::{self, Request};
use larder_protocol::binary::reply::encode_error;
use larder_protocol::binary::{Echo, Status};
use larder_protocol::meta::arithmetic::Changed;
use larder_store::{Delta, Error, Initial};

use super::refuse;
use crate::conditional::{self, Count, CountOutcome};
use crate::context::{Desk, NO_VERSION, ttl_of};
use crate::text;

pub(super) fn run(echo: Echo, request: &Request<'_>, desk: &mut Desk, out: &mut Vec<u8>) {
    let is_down = request.change.is_down;
    match counted(request, desk) {
        Ok(CountOutcome::Counted(counted)) => {
            text::count(true, is_down, desk);
            let version = counted.version.or(Some(NO_VERSION));
            arithmetic::encode_reply(out, echo, Changed { number: counted.number, version });
        }
        Ok(CountOutcome::NotFound) => {
            text::count(false, is_down, desk);
            arithmetic::encode_miss(out, echo);
        }
        Ok(CountOutcome::Exists) => encode_error(out, echo, Status::Exists),
        Err(error) => refuse(echo, &error, desk, out),
    }
}

fn counted(request: &Request<'_>, desk: &mut Desk) -> Result<CountOutcome, Error> {
    let change = &request.change;
    let delta = if change.is_down { Delta::Down(change.delta) } else { Delta::Up(change.delta) };
    let absent = change.absent.map(|(number, exptime)| Initial { number, ttl: ttl_of(exptime) });
    if request.version.is_some() {
        let count = Count { delta, version: request.version, absent, exptime: None };
        return conditional::count(request.key, count, desk);
    }
    let counted = desk.session.incr(request.key, delta, absent)?;
    Ok(counted.map_or(CountOutcome::NotFound, CountOutcome::Counted))
}
