//! The header of an answer of the binary protocol, and its meaning for a request.

use larder_protocol::binary::{HEADER_LEN, REPLY_MAGIC, opcode};
use larder_workload::trace::{Outcome, Verb};

use super::answer_line::Fit;

/// The statuses of an answer that mean something for an operation.
const SUCCESS: u16 = 0;
const NOT_FOUND: u16 = 1;
const EXISTS: u16 = 2;
const NOT_STORED: u16 = 5;

/// The header of an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    /// The opcode without its quiet variant.
    code: u8,
    opaque: u32,
    status: u16,
    key_len: u16,
    extras_len: u8,
    pub(super) body_len: u32,
    /// The time at which its first byte went to the application.
    pub(super) at: u64,
}

/// The answer that a request expects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    /// The opcode without its quiet variant.
    pub(super) opcode: u8,
    pub(super) opaque: u32,
    pub(super) is_quiet: bool,
}

impl Answer {
    /// Reads a header; `None` where it is not one of an answer.
    pub(super) fn of(header: &[u8; HEADER_LEN], at: u64) -> Option<Self> {
        let [magic, code, k0, k1, extras_len, _, s0, s1, b0, b1, b2, b3, rest @ ..] = *header;
        let [o0, o1, o2, o3, ..] = rest;
        (magic == REPLY_MAGIC).then(|| Self {
            code: without_quiet(code),
            opaque: u32::from_be_bytes([o0, o1, o2, o3]),
            status: u16::from_be_bytes([s0, s1]),
            key_len: u16::from_be_bytes([k0, k1]),
            extras_len,
            body_len: u32::from_be_bytes([b0, b1, b2, b3]),
            at,
        })
    }

    /// The meaning of the answer for a request.
    pub(super) fn fit(&self, expected: Expected, verb: Verb) -> Fit {
        if (self.code, self.opaque) != (expected.opcode, expected.opaque) {
            return Fit::No;
        }
        if self.code == opcode::STAT && self.status == SUCCESS && self.key_len > 0 {
            // More statistics follow, up to one without a name.
            return Fit::More;
        }
        let result = outcome(verb, self.status);
        // A quiet request leaves out its usual answer.
        if expected.is_quiet && result == silence(verb) { Fit::No } else { Fit::Done(Some(result)) }
    }

    /// The length of the value that the answer brings.
    pub(super) fn value_len(&self) -> u32 {
        self.body_len.saturating_sub(u32::from(self.key_len) + u32::from(self.extras_len))
    }
}

/// The command of an opcode without its quiet variant. memcached answers a quiet command with either opcode.
pub(super) fn without_quiet(code: u8) -> u8 {
    match code {
        opcode::GETQ => opcode::GET,
        opcode::GETKQ => opcode::GETK,
        opcode::SETQ..=opcode::FLUSHQ => code - opcode::SETQ + opcode::SET,
        opcode::APPENDQ => opcode::APPEND,
        opcode::PREPENDQ => opcode::PREPEND,
        opcode::GATQ => opcode::GAT,
        opcode::GATKQ => opcode::GATK,
        _ => code,
    }
}

/// The result that a status stands for.
fn outcome(verb: Verb, status: u16) -> Outcome {
    match (verb, status) {
        (Verb::Get | Verb::Gat, SUCCESS) => Outcome::Hit,
        (Verb::Get | Verb::Gat, NOT_FOUND) => Outcome::Miss,
        (Verb::Delete, SUCCESS) => Outcome::Deleted,
        (Verb::Touch, SUCCESS) => Outcome::Touched,
        (_, SUCCESS) => Outcome::Stored,
        (_, NOT_FOUND) => Outcome::NotFound,
        // An `add` of a key that exists has this status too.
        (Verb::Add, EXISTS) => Outcome::NotStored,
        // As has a `replace` of an absent key.
        (_, EXISTS) => Outcome::Exists,
        (_, NOT_STORED) => Outcome::NotStored,
        _ => Outcome::Error,
    }
}

/// The meaning of a quiet request's missing answer.
pub(super) fn silence(verb: Verb) -> Outcome {
    match verb {
        Verb::Get | Verb::Gat => Outcome::Miss,
        Verb::Delete => Outcome::Deleted,
        Verb::Touch => Outcome::Touched,
        _ => Outcome::Stored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quiet_opcode_has_its_loud_one() {
        for (quiet, of) in [
            (opcode::GETQ, opcode::GET),
            (opcode::GETKQ, opcode::GETK),
            (opcode::SETQ, opcode::SET),
            (opcode::ADDQ, opcode::ADD),
            (opcode::REPLACEQ, opcode::REPLACE),
            (opcode::DELETEQ, opcode::DELETE),
            (opcode::INCREMENTQ, opcode::INCREMENT),
            (opcode::DECREMENTQ, opcode::DECREMENT),
            (opcode::QUITQ, opcode::QUIT),
            (opcode::FLUSHQ, opcode::FLUSH),
            (opcode::APPENDQ, opcode::APPEND),
            (opcode::PREPENDQ, opcode::PREPEND),
            (opcode::GATQ, opcode::GAT),
            (opcode::GATKQ, opcode::GATK),
        ] {
            assert_eq!((without_quiet(quiet), without_quiet(of)), (of, of), "{quiet:#x}");
        }
    }
}
