//! `DELETE` and `DELETEQ`, also on condition of a version.
//!
//! Their source is section 4.4 of the Memcache Binary Protocol (`protocol-binary.txt`).

use super::header::Echo;
use super::{Status, reply};
use crate::meta::delete::DeleteReply;

/// A request as a server receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The key to remove.
    pub key: &'a [u8],
    /// The version that the entry must have.
    pub version: Option<u64>,
}

/// Writes the answer. A quiet command leaves out success, and not the answer that the key does not exist.
pub fn encode_reply(out: &mut Vec<u8>, echo: Echo, reply: DeleteReply) {
    match reply {
        DeleteReply::Deleted => reply::encode_success(out, echo, 0),
        DeleteReply::Exists => reply::encode_error(out, echo, Status::Exists),
        DeleteReply::NotFound => reply::encode_error(out, echo, Status::NotFound),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::opcode;

    #[test]
    fn a_quiet_delete_tells_that_the_key_is_absent() {
        let mut out = Vec::new();
        let echo = Echo { opcode: opcode::DELETEQ, opaque: 0 };
        encode_reply(&mut out, echo, DeleteReply::Deleted);
        assert_eq!(out, b"");
        encode_reply(&mut out, echo, DeleteReply::NotFound);
        assert_eq!((out[7], &out[24..]), (1, &b"Not found"[..]));
    }
}
