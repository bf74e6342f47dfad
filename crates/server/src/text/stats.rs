//! `stats` and its groups.

use larder_protocol::request::{Fault, Words};
use larder_protocol::text::stats::{encode_end, encode_reset, encode_stat};

use crate::context::Desk;
use crate::stats::{Told, tell};

pub(super) fn run(mut words: Words<'_>, desk: &Desk, out: &mut Vec<u8>) {
    let begin = out.len();
    match tell(words.next(), desk, &mut |name, value| encode_stat(out, name, value)) {
        Ok(Told::Group) => encode_end(out),
        Ok(Told::Reset) => encode_reset(out),
        Ok(Told::Unknown) => out.extend_from_slice(Fault::Unknown.line()),
        Err(error) => {
            out.truncate(begin);
            desk.refuse(out, &error);
        }
    }
}
