//! `STAT`.

use larder_protocol::binary::reply::encode_error;
use larder_protocol::binary::stat::{encode_end, encode_stat};
use larder_protocol::binary::{Echo, Status};

use super::refuse;
use crate::context::Desk;
use crate::stats::{Told, tell};

pub(super) fn run(echo: Echo, group: &[u8], desk: &Desk, out: &mut Vec<u8>) {
    let begin = out.len();
    let group = Some(group).filter(|group| !group.is_empty());
    match tell(group, desk, &mut |name, value| encode_stat(out, echo, name, value)) {
        Ok(Told::Group | Told::Reset) => encode_end(out, echo),
        Ok(Told::Unknown) => encode_error(out, echo, Status::NotFound),
        Err(error) => {
            out.truncate(begin);
            refuse(echo, &error, desk, out);
        }
    }
}
