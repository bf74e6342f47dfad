//! `GET`, `GETK`, `GAT`, `GATK` and their quiet variants.

use larder_protocol::binary::Echo;
use larder_protocol::binary::get::{self, Request, ValueHeader};
use larder_store::{Error, Meta};

use super::refusal::refuse;
use crate::context::{Context, NO_VERSION, ttl_of};
use crate::counts::Count;

pub(super) fn run(echo: Echo, request: &Request<'_>, context: &mut Context, out: &mut Vec<u8>) {
    let begin = out.len();
    let value_begin = begin + request.header_len();
    // The value goes straight behind the place of its header, whose length is known.
    out.resize(value_begin, 0);
    match value(request, context, out) {
        Ok(Some(meta)) => {
            count(request, true, context);
            let len = out.len() - value_begin;
            let version = meta.version.unwrap_or(NO_VERSION);
            let header = ValueHeader { flags: meta.flags, len, version };
            get::fill_header(&mut out[begin..value_begin], echo, request, &header);
        }
        Ok(None) => {
            count(request, false, context);
            out.truncate(begin);
            get::encode_miss(out, echo, request);
        }
        Err(error) => {
            out.truncate(begin);
            refuse(echo, &error, context, out);
        }
    }
}

fn value(
    request: &Request<'_>,
    context: &mut Context,
    out: &mut Vec<u8>,
) -> Result<Option<Meta>, Error> {
    let Some(exptime) = request.exptime else {
        return context.session.get_onto(request.key, out);
    };
    let mut value = std::mem::take(&mut context.value);
    let found = context.session.get_and_touch(request.key, ttl_of(exptime), &mut value);
    if let Ok(Some(_)) = found {
        out.extend_from_slice(&value);
    }
    context.keep_buffer(value);
    found
}

/// memcached counts a read with a new TTL as a touch, and not as a get too.
fn count(request: &Request<'_>, is_found: bool, context: &Context) {
    if request.exptime.is_some() {
        context.counts.add_one(Count::CmdTouch);
        context.counts.add_found(is_found, Count::TouchHits, Count::TouchMisses);
    } else {
        context.counts.add_one(Count::CmdGet);
        context.counts.add_found(is_found, Count::GetHits, Count::GetMisses);
    }
}
