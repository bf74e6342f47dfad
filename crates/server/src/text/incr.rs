//! `incr`, `decr`.

use larder_protocol::text::incr::{self, Request};
use larder_store::Delta;

use crate::context::Desk;
use crate::counts::Count;

pub(super) fn run(request: &Request<'_>, desk: &mut Desk, out: &mut Vec<u8>) {
    let delta = if request.is_down { Delta::Down(request.delta) } else { Delta::Up(request.delta) };
    match desk.session.incr(request.key, delta, None) {
        Ok(counted) => {
            count(counted.is_some(), request.is_down, desk);
            if !request.is_quiet {
                incr::encode_reply(out, counted.map(|counted| counted.number));
            }
        }
        Err(error) if !request.is_quiet => desk.refuse(out, &error),
        Err(_) => {}
    }
}

/// Counts whether the number was there.
pub(crate) fn count(is_there: bool, is_down: bool, desk: &Desk) {
    let (hits, misses) = if is_down {
        (Count::DecrHits, Count::DecrMisses)
    } else {
        (Count::IncrHits, Count::IncrMisses)
    };
    desk.counts.add_found(is_there, hits, misses);
}
