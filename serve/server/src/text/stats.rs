//! `stats` and its groups.

use larder_protocol::request::{Fault, Words};
use larder_protocol::text::stats::{encode_end, encode_reset, encode_stat};

use crate::context::Context;
use crate::stats::{StatsReply, write_group};

pub(super) fn run(mut words: Words<'_>, context: &Context, out: &mut Vec<u8>) {
    let begin = out.len();
    match write_group(words.next(), context, &mut |name, value| encode_stat(out, name, value)) {
        Ok(StatsReply::Listed) => encode_end(out),
        Ok(StatsReply::Reset) => encode_reset(out),
        Ok(StatsReply::Unknown) => out.extend_from_slice(Fault::Unknown.line()),
        Err(error) => {
            out.truncate(begin);
            context.refuse(out, &error);
        }
    }
}
