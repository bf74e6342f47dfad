//! The commands of the meta protocol, one file each.

mod arithmetic;
mod debug;
pub(crate) mod delete;
mod get;
mod set;

use larder_protocol::key::MAX_KEY_LEN;
use larder_protocol::meta::{self, Command};

use crate::context::Context;
use crate::counts::Count;
use crate::payload::{Done, Payload};

/// Carries out a command.
pub(crate) fn run(
    command: Command<'_>,
    payload: &Payload<'_>,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Done {
    context.counts.add_one(Count::CmdMeta);
    let mut key_buffer = [0; MAX_KEY_LEN];
    let (request, run): (_, Run) = match command {
        Command::Set(request) => return set::run(&request, payload, context, out),
        Command::Noop => {
            meta::noop::encode_reply(out);
            return Done::Answered(0);
        }
        Command::Get(request) => (request, get::run),
        Command::Delete(request) => (request, delete::run),
        Command::Arithmetic(request) => (request, arithmetic::run),
        Command::Debug(request) => (request, debug::run),
    };
    match request.key(&mut key_buffer) {
        Ok(key) => run(&request, key, context, out),
        Err(fault) => Done::Refused(fault),
    }
}

/// A command about one key.
type Run = fn(&meta::request::Request<'_>, &[u8], &mut Context, &mut Vec<u8>) -> Done;
