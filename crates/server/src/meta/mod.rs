//! The commands of the meta protocol, one file each.

mod arithmetic;
mod debug;
pub(crate) mod delete;
mod get;
mod set;

use larder_protocol::key::MAX_KEY_LEN;
use larder_protocol::meta::{self, Command};

use crate::behind::{Behind, Done};
use crate::context::Desk;
use crate::counts::Count;

/// Does what a command asks for.
pub(crate) fn run(
    command: Command<'_>,
    behind: &Behind<'_>,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Done {
    desk.counts.add_one(Count::CmdMeta);
    let mut key_buffer = [0; MAX_KEY_LEN];
    let (request, run): (_, Run) = match command {
        Command::Set(request) => return set::run(&request, behind, desk, out),
        Command::Noop => {
            meta::noop::encode_reply(out);
            return Done::Whole(0);
        }
        Command::Get(request) => (request, get::run),
        Command::Delete(request) => (request, delete::run),
        Command::Arithmetic(request) => (request, arithmetic::run),
        Command::Debug(request) => (request, debug::run),
    };
    match request.key(&mut key_buffer) {
        Ok(key) => run(&request, key, desk, out),
        Err(fault) => Done::Refused(fault),
    }
}

/// A command about one key.
type Run = fn(&meta::request::Request<'_>, &[u8], &mut Desk, &mut Vec<u8>) -> Done;
