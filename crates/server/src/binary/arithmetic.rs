//! `INCREMENT`, `DECREMENT` and their quiet variants.

use larder_protocol::binary::Echo;
use larder_protocol::binary::arithmetic::{self, Request};
use larder_protocol::meta::arithmetic::Changed;
use larder_store::{Counted, Delta, Error, Initial};

use super::{BY_VERSION, NO_VERSION, refuse};
use crate::context::{Desk, ttl_of};
use crate::text::count;

pub(super) fn run(echo: Echo, request: &Request<'_>, desk: &mut Desk, out: &mut Vec<u8>) {
    match counted(request, desk) {
        Ok(counted) => {
            count(counted.is_some(), request.change.is_down, desk);
            match counted {
                Some(Counted { number, version }) => {
                    let version = version.or(Some(NO_VERSION));
                    arithmetic::encode_reply(out, echo, Changed { number, version });
                }
                None => arithmetic::encode_miss(out, echo),
            }
        }
        Err(error) => refuse(echo, &error, desk, out),
    }
}

fn counted(request: &Request<'_>, desk: &mut Desk) -> Result<Option<Counted>, Error> {
    if request.version.is_some() {
        return Err(desk.unsupported(BY_VERSION));
    }
    let change = &request.change;
    let delta = if change.is_down { Delta::Down(change.delta) } else { Delta::Up(change.delta) };
    let initial = change.absent.map(|(number, exptime)| Initial { number, ttl: ttl_of(exptime) });
    desk.session.incr(request.key, delta, initial)
}
