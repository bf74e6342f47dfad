//! Answers that many commands share: success without a body, and errors.

use super::header::{Echo, Lengths, ReplyHeader};
use super::{Status, fault::Fault};

/// Writes the answer of success, which a quiet command leaves out.
///
/// `version` is that of the entry where the command made one, else 0. This is the whole answer of `NOOP`, `QUIT`,
/// `FLUSH` and `VERBOSITY`.
#[inline]
pub fn encode_success(out: &mut Vec<u8>, echo: Echo, version: u64) {
    if !echo.is_quiet() {
        encode_body(out, echo, Status::Success, version, b"");
    }
}

/// Writes the answer of an error in memcached's words. A quiet command has it, too.
pub fn encode_error(out: &mut Vec<u8>, echo: Echo, status: Status) {
    encode_error_text(out, echo, status, status.text());
}

/// Writes the answer of an error in other words, such as a store's.
pub fn encode_error_text(out: &mut Vec<u8>, echo: Echo, status: Status, text: &[u8]) {
    encode_body(out, echo, status, 0, text);
}

/// Writes the answer to a request that has a fault, where the fault has an answer.
pub fn encode_fault(out: &mut Vec<u8>, fault: Fault) {
    if let Some((echo, status)) = fault.answer() {
        encode_error(out, echo, status);
    }
}

/// Writes an answer with a body that is all value.
pub(super) fn encode_body(
    out: &mut Vec<u8>,
    echo: Echo,
    status: Status,
    version: u64,
    value: &[u8],
) {
    let lengths = Lengths { extras: 0, key: 0, value: value.len() };
    out.extend_from_slice(&ReplyHeader { echo, status, lengths, version }.bytes());
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::opcode;

    #[test]
    fn an_error_has_its_text_as_the_protocol_shows_it() {
        let mut out = Vec::new();
        encode_error(&mut out, Echo { opcode: opcode::GET, opaque: 0 }, Status::NotFound);
        let mut answer = vec![0x81, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9];
        answer.extend_from_slice(&[0; 12]);
        answer.extend_from_slice(b"Not found");
        assert_eq!(out, answer);
    }

    #[test]
    fn a_quiet_command_leaves_out_success_and_no_error() {
        let mut out = Vec::new();
        let echo = Echo { opcode: opcode::SETQ, opaque: 7 };
        encode_success(&mut out, echo, 9);
        assert_eq!(out, b"");
        encode_error(&mut out, echo, Status::Exists);
        assert_eq!(out[..8], [0x81, opcode::SETQ, 0, 0, 0, 0, 0, 2]);
        out.clear();
        encode_success(&mut out, Echo { opcode: opcode::SET, opaque: 7 }, 9);
        assert_eq!(out[12..], [0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9]);
    }
}
