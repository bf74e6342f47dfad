//! `STAT`.

use larder_protocol::binary::reply::encode_error;
use larder_protocol::binary::stat::{encode_end, encode_stat};
use larder_protocol::binary::{Echo, Status};

use super::refusal::refuse;
use crate::context::Context;
use crate::stats::{StatsReply, write_group};

pub(super) fn run(echo: Echo, group: &[u8], context: &Context, out: &mut Vec<u8>) {
    let begin = out.len();
    let group = Some(group).filter(|group| !group.is_empty());
    match write_group(group, context, &mut |name, value| encode_stat(out, echo, name, value)) {
        Ok(StatsReply::Listed | StatsReply::Reset) => encode_end(out, echo),
        Ok(StatsReply::Unknown) => encode_error(out, echo, Status::NotFound),
        Err(error) => {
            out.truncate(begin);
            refuse(echo, &error, context, out);
        }
    }
}
