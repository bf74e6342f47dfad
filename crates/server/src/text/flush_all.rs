//! `flush_all`, at once or later.

use std::io::Write as _;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use larder_protocol::text::flush_all::{self, Request};
use larder_store::{Error, Session};

use crate::context::{Desk, Shared, ttl_of};
use crate::counts::Count;

pub(super) fn run(request: Request, desk: &mut Desk, out: &mut Vec<u8>) {
    if !desk.shared.settings.allows_flush {
        if !request.is_quiet {
            out.extend_from_slice(b"CLIENT_ERROR flush_all not allowed\r\n");
        }
        return;
    }
    desk.counts.add_one(Count::CmdFlush);
    desk.shared.recaches.forget_all();
    let delay = ttl_of(request.delay).filter(|delay| *delay > Duration::ZERO);
    let at = delay.and_then(|delay| Instant::now().checked_add(delay));
    // A later request takes the place of one that is not due yet.
    *desk.shared.flush_at.lock().unwrap_or_else(PoisonError::into_inner) = at;
    let done = match at {
        None => desk.session.clear(),
        Some(_) if desk.shared.abilities.clear => Ok(()),
        Some(_) => {
            Err(Error::Unsupported { engine: desk.session.engine(), operation: "flush_all" })
        }
    };
    match done {
        Ok(()) if !request.is_quiet => flush_all::encode_reply(out),
        Err(error) if !request.is_quiet => desk.refuse(out, &error),
        _ => {}
    }
}

/// Ends all entries where a request asked for that, and its time has come. The request is answered already, so a failure
/// is told in a line to the operator.
pub(crate) fn clear_if_due(shared: &Shared, session: &mut dyn Session) {
    let mut flush_at = shared.flush_at.lock().unwrap_or_else(PoisonError::into_inner);
    if flush_at.is_some_and(|at| at <= Instant::now()) {
        *flush_at = None;
        drop(flush_at);
        if let Err(error) = session.clear() {
            let _ = writeln!(std::io::stderr(), "larder: flush_all: {error}");
        }
    }
}
