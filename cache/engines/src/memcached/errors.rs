//! Failures between the client and a node, as errors of the contract.

use std::io::{self, ErrorKind};
use std::time::Duration;

use larder_protocol::text::incr::NOT_A_NUMBER;
use larder_protocol::{Malformed, Refusal, shown};
use larder_store::Error;

use super::SCHEME;
use super::address::Node;

/// The error for an error of the system.
#[cold]
pub(super) fn failed(node: &Node, timeout: Duration, source: io::Error) -> Error {
    let what = match source.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            return Error::Timeout { engine: SCHEME, peer: node.to_string(), after: timeout };
        }
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            format!("{node} closed the connection")
        }
        ErrorKind::ConnectionRefused => {
            format!("{node} refused the connection; is memcached running there?")
        }
        ErrorKind::NotFound => format!("{node} is not there; is memcached running on it?"),
        // What the library of TLS says of the server's bytes.
        ErrorKind::InvalidData if source.to_string().contains("invalid peer certificate") => {
            format!("{node}: {source}; name the file of its authority by `ca=`")
        }
        ErrorKind::InvalidData => format!("{node}: {source}; does it speak TLS?"),
        _ => format!("{node}: {source}"),
    };
    Error::Unavailable { engine: SCHEME, what, source: Some(source) }
}

/// The error for a refusal by the node. `max_value_len` is its item limit, `value_len` the length of the value that was
/// to be stored.
#[cold]
pub(super) fn refused(
    node: &Node,
    max_value_len: Option<usize>,
    value_len: usize,
    refused: Refusal<'_>,
) -> Error {
    let (word, reason): (_, &[u8]) = match refused {
        Refusal::Unknown => ("ERROR: it does not know the command", b""),
        Refusal::Client(NOT_A_NUMBER) => return Error::NotANumber { engine: SCHEME },
        Refusal::Client(reason) => ("CLIENT_ERROR ", reason),
        Refusal::Server(reason) if is_out_of_memory(reason) => {
            let what = format!("{node} answered: {}; give it more memory (-m)", shown(reason));
            return Error::Full { engine: SCHEME, what };
        }
        Refusal::Server(reason) => match max_value_len {
            Some(limit) if reason.starts_with(b"object too large") => {
                return Error::ValueTooLarge { engine: SCHEME, len: value_len, limit };
            }
            _ => ("SERVER_ERROR ", reason),
        },
    };
    protocol(node, word, reason)
}

/// The error for bytes that are no answer to a command.
#[cold]
pub(super) fn malformed(node: &Node, malformed: Malformed, received: &[u8]) -> Error {
    protocol(node, &format!("not an answer to `{}`: ", malformed.command), received)
}

/// The error for a value with these bytes in place of its end.
#[cold]
pub(super) fn no_end(node: &Node, end: &[u8]) -> Error {
    protocol(node, "a value without its end: ", end)
}

/// The error for an answer that no request asked for.
#[cold]
pub(super) fn unasked(node: &Node, received: &[u8]) -> Error {
    protocol(node, "an answer without a request: ", received)
}

#[cold]
fn protocol(node: &Node, what: &str, bytes: &[u8]) -> Error {
    let (peer, message) = (node.to_string(), format!("{what}{}", shown(bytes)));
    Error::Protocol { engine: SCHEME, peer, message }
}

/// Whether a server has no room. The first letter differs from command to command.
fn is_out_of_memory(reason: &[u8]) -> bool {
    const WORDS: &[u8] = b"out of memory";
    reason.get(..WORDS.len()).is_some_and(|words| words.eq_ignore_ascii_case(WORDS))
}

/// Whether an error is a whole answer. Other refusals may concern only a part of a request.
pub(super) fn is_whole_answer(error: &Error) -> bool {
    matches!(error, Error::ValueTooLarge { .. } | Error::Full { .. } | Error::NotANumber { .. })
}
