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
pub(crate) use get::{Pipelined, TOGETHER, get_apart, pipelined};
pub(crate) use incr::count;
pub(crate) use log_in::{MAX_LOGIN_LEN, log_in};
pub(crate) use set::{
    Whole, check_join, count_cas, mode, pipelined_sets, reply, set_apart, store, whole,
};

use larder_protocol::request::Fault;
use larder_protocol::text::{self, Request};

use crate::MEMCACHED_VERSION;
use crate::behind::{Behind, Done};
use crate::context::Desk;
use crate::server::Order;

/// Does what a request asks for. Where `unanswered` is not 0, only the keys in so many bytes at
/// the end of the line are left to answer.
#[inline]
pub(crate) fn run(
    request: Request<'_>,
    unanswered: usize,
    behind: &Behind<'_>,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Done {
    match request {
        Request::Get(request) => return get::run(&request, unanswered, desk, out),
        Request::Set(request) => return set::run(&request, behind, desk, out),
        Request::Delete(request) => delete::run(&request, desk, out),
        Request::Incr(request) => incr::run(&request, desk, out),
        Request::Touch(request) => touch::run(&request, desk, out),
        Request::FlushAll(request) => flush_all::run(request, desk, out),
        Request::Stats(words) => stats::run(words, desk, out),
        Request::Verbosity(is_quiet) => {
            if !is_quiet {
                text::verbosity::encode_reply(out);
            }
        }
        Request::Version => text::version::encode_reply(out, &own_version()),
        Request::Quit => return Done::End,
        Request::Shutdown(_) if !desk.shared.settings.allows_shutdown => {
            return Done::Refused(Fault::Shutdown);
        }
        Request::Shutdown(false) => return Done::Refused(Fault::ShutdownMode),
        Request::Shutdown(true) => {
            desk.shared.remote.give(Order::End);
            return Done::End;
        }
    }
    Done::Whole(0)
}

/// The version of memcached whose protocols are spoken, and this program's.
pub(crate) fn own_version() -> String {
    format!("{MEMCACHED_VERSION}-larder-{}", env!("CARGO_PKG_VERSION"))
}
