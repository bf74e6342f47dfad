//! `flush_all`, at once or later.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use larder_protocol::text::flush_all::{self, Request};
use larder_store::Error;

use crate::context::{Context, Shared, ttl_of};
use crate::counts::Count;
use crate::log::Level;

pub(super) fn run(request: Request, context: &mut Context, out: &mut Vec<u8>) {
    if !context.shared.settings.allows_flush {
        if !request.is_quiet {
            out.extend_from_slice(b"CLIENT_ERROR flush_all not allowed\r\n");
        }
        return;
    }
    match flush(request.delay, context) {
        Ok(()) if !request.is_quiet => flush_all::encode_reply(out),
        Err(error) if !request.is_quiet => context.refuse(out, &error),
        _ => {}
    }
}

/// Ends all entries, at once or after a delay.
pub(crate) fn flush(delay: i64, context: &mut Context) -> Result<(), Error> {
    context.counts.add_one(Count::CmdFlush);
    if !context.shared.abilities.clear {
        return Err(context.unsupported("flush_all"));
    }
    context.shared.recaches.forget_all();
    let delay = ttl_of(delay).filter(|delay| *delay > Duration::ZERO);
    let at = delay.and_then(|delay| Instant::now().checked_add(delay));
    // A later request takes the place of one that is not due yet.
    *context.shared.flush_at.lock().unwrap_or_else(PoisonError::into_inner) = at;
    if at.is_none() { context.session.clear() } else { Ok(()) }
}

/// Ends all entries where a request asked for that, and its time has come. The request is answered already, so a failure
/// is logged. A thread of its own waits for the store.
pub(crate) fn flush_if_due(shared: &Arc<Shared>) {
    let mut flush_at = shared.flush_at.lock().unwrap_or_else(PoisonError::into_inner);
    if flush_at.is_none_or(|at| at > Instant::now()) {
        return;
    }
    *flush_at = None;
    let shared = Arc::clone(shared);
    let spawned = thread::Builder::new().name("flush_all".into()).spawn(move || {
        let done = shared.store.session().and_then(|mut session| session.clear());
        if let Err(error) = done {
            let message = format!("a delayed flush_all failed: {error}");
            shared.settings.log.say(Level::Error, "flush_failed", &message, &[("error", &error)]);
        }
    });
    if spawned.is_err() {
        // The next tick tries again.
        *flush_at = Some(Instant::now());
    }
}
