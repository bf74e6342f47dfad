//! `incr`, `decr`.

use larder_protocol::text::incr::{self, Request};
use larder_store::Delta;

use crate::context::Context;
use crate::counts::Count;

pub(super) fn run(request: &Request<'_>, context: &mut Context, out: &mut Vec<u8>) {
    let delta = if request.is_down { Delta::Down(request.delta) } else { Delta::Up(request.delta) };
    match context.session.incr(request.key, delta, None) {
        Ok(counted) => {
            count(counted.is_some(), request.is_down, context);
            if !request.is_quiet {
                incr::encode_reply(out, counted.map(|counted| counted.number));
            }
        }
        Err(error) if !request.is_quiet => context.refuse(out, &error),
        Err(_) => {}
    }
}

/// Counts whether the number was there.
pub(crate) fn count(is_there: bool, is_down: bool, context: &Context) {
    let (hits, misses) = if is_down {
        (Count::DecrHits, Count::DecrMisses)
    } else {
        (Count::IncrHits, Count::IncrMisses)
    };
    context.counts.add_found(is_there, hits, misses);
}
