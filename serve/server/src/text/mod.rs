//! The commands of the classic text protocol, one file each.

mod delete;
mod flush_all;
mod get;
mod in_order;
mod incr;
mod log_in;
mod set;
mod stats;
mod touch;

pub(crate) use flush_all::{flush, flush_if_due};
pub(crate) use get::{Pipelined, answer_pipelined_gets, get_for_connections};
pub(crate) use incr::count;
pub(crate) use log_in::log_in;
pub(crate) use set::{
    CompleteSet, answer_pipelined_sets, check_join, complete_set, count_cas, mode, reply,
    set_for_connections, store,
};

use larder_protocol::request::Fault;
use larder_protocol::text::{self, Request};

use crate::context::Context;
use crate::payload::{Done, Payload};
use crate::remote::Order;
use crate::version::own_version;

/// Carries out a request. If `unanswered` is not 0, only the keys in that many bytes at the end of the line are left to answer.
#[inline]
pub(crate) fn run(
    request: Request<'_>,
    unanswered: usize,
    payload: &Payload<'_>,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Done {
    match request {
        Request::Get(request) => return get::run(&request, unanswered, context, out),
        Request::Set(request) => return set::run(&request, payload, context, out),
        Request::Delete(request) => delete::run(&request, context, out),
        Request::Incr(request) => incr::run(&request, context, out),
        Request::Touch(request) => touch::run(&request, context, out),
        Request::FlushAll(request) => flush_all::run(request, context, out),
        Request::Stats(words) => stats::run(words, context, out),
        Request::Verbosity(is_quiet) => {
            if !is_quiet {
                text::verbosity::encode_reply(out);
            }
        }
        Request::Version => text::version::encode_reply(out, &own_version()),
        Request::Quit => return Done::End,
        Request::Shutdown(_) if !context.shared.settings.allows_shutdown => {
            return Done::Refused(Fault::Shutdown);
        }
        Request::Shutdown(false) => return Done::Refused(Fault::ShutdownMode),
        Request::Shutdown(true) => {
            context.shared.remote.give(Order::End);
            return Done::End;
        }
    }
    Done::Answered(0)
}
