//! Failures between the client and a server, as errors of the contract.

use std::fmt::Debug;
use std::io::{self, ErrorKind};
use std::time::Duration;

use larder_protocol::resp::{ServerError, Value};
use larder_protocol::shown;
use larder_store::{Error, Result};

use super::SCHEME;
use super::address::Node;
use super::dialogue::is_timeout;
use crate::network::one_line;

/// A message is cut to this length.
const LONGEST: usize = 160;

/// The beginning of what a server says that takes no more connections.
const MANY_CLIENTS: &str = "max number of clients";

/// The error for an error of the system. `waited` is the longest wait for an answer.
#[cold]
pub(super) fn failed(node: &Node, waited: Duration, error: &io::Error) -> Error {
    if is_timeout(error) {
        return Error::Timeout { engine: SCHEME, peer: node.to_string(), after: waited };
    }
    let text = one_line(LONGEST, &error.to_string());
    let is_refused = matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound);
    let is_closed = matches!(
        error.kind(),
        ErrorKind::UnexpectedEof
            | ErrorKind::BrokenPipe
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
    );
    let what = match node.host() {
        None if is_refused => format!("{node} is not there; is redis running on it?"),
        Some(_) if is_refused => {
            format!("{node} refused the connection; is redis running there?")
        }
        _ if is_closed => format!("{node} closed the connection"),
        _ if text.contains("invalid peer certificate") => {
            format!("{node}: {text}; name the file of its authority by `ca=`")
        }
        // What the library of TLS says of the server's bytes.
        _ if error.kind() == ErrorKind::InvalidData => {
            format!("{node}: {text}; does it speak TLS?")
        }
        _ => format!("{node}: {text}"),
    };
    unavailable(what)
}

/// The error for an error answer of a server.
#[cold]
pub(super) fn refused(node: &Node, refusal: &ServerError) -> Error {
    let (code, details) = (refusal.code(), refusal.details());
    let said = said(refusal);
    match code {
        "OOM" => Error::Full {
            engine: SCHEME,
            what: format!("{node} answered: {said}; give it more memory, or a policy that evicts"),
        },
        _ if details.contains("No space left on device") => {
            Error::Full { engine: SCHEME, what: format!("{node} answered: {said}") }
        }
        "LOADING" | "BUSY" | "TRYAGAIN" => {
            Error::Busy { engine: SCHEME, what: format!("{node} answered: {said}") }
        }
        "ERR" if details.starts_with(MANY_CLIENTS) => {
            Error::Busy { engine: SCHEME, what: format!("{node} answered: {said}") }
        }
        "CLUSTERDOWN" | "MASTERDOWN" => unavailable(format!("{node} answered: {said}")),
        "WRONGPASS" => refused_password(node),
        "NOAUTH" => {
            unavailable(format!("{node} asks for a password; write redis://user:password@host"))
        }
        "MOVED" | "ASK" => {
            protocol(node, &format!("{said}; the server does not tell its cluster's slots"))
        }
        "READONLY" => protocol(node, &format!("{said}; name its primary")),
        _ => protocol(node, &said),
    }
}

/// The error of a node that refuses a command of the greeting.
#[cold]
pub(super) fn refused_greeting(node: &Node, command: &str, refusal: &ServerError) -> Error {
    match (command, refusal.code()) {
        // The server would refuse any command now.
        (_, "DENIED" | "LOADING" | "BUSY") => refused(node, refusal),
        (_, "ERR") if refusal.details().starts_with(MANY_CLIENTS) => refused(node, refusal),
        ("AUTH", _) => refused_password(node),
        ("HELLO", "ERR" | "NOPROTO") => {
            protocol(node, &format!("{}; leave out `resp=3`", said(refusal)))
        }
        _ => refused(node, refusal),
    }
}

/// The error of a node that speaks without TLS where it was to speak with it.
#[cold]
pub(super) fn without_tls(node: &Node) -> Error {
    unavailable(format!("{node} speaks without TLS; write redis://, or name its port for TLS"))
}

/// The error of a request that the nodes of a cluster redirect from one to the next.
#[cold]
pub(super) fn sent_around(node: &Node, n_times: usize, slot: u16) -> Error {
    protocol(
        node,
        &format!("its cluster redirected a request {n_times} times; no node owns slot {slot}"),
    )
}

/// The error of a node that names another node without its host.
#[cold]
pub(super) fn unknown_host(reporter: &Node, port: u16) -> Error {
    unavailable(format!("{reporter} does not know the host of its cluster's node on port {port}"))
}

/// The error of an answer that does not fit the command.
#[cold]
pub(super) fn unexpected(node: &Node, command: &str, answer: &dyn Debug) -> Error {
    protocol(node, &one_line(LONGEST, &format!("not an answer to {command}: {answer:?}")))
}

/// Whether a command has found its key, or a script what it was for.
pub(super) fn found(node: &Node, command: &str, answer: &Value) -> Result<bool> {
    match answer {
        Value::Integer(n) => Ok(*n > 0),
        other => Err(unexpected(node, command, other)),
    }
}

/// The error of bytes that no server of this protocol sends.
#[cold]
pub(super) fn malformed(node: &Node, received: &[u8]) -> Error {
    protocol(node, &format!("not an answer of this protocol: {}", shown(received)))
}

/// The error of an answer that no request asked for.
#[cold]
pub(super) fn unasked(node: &Node, received: &[u8]) -> Error {
    protocol(node, &format!("an answer without a request: {}", shown(received)))
}

/// The error for an error answer to a request that is sent once and to one node.
#[cold]
pub(super) fn refused_at_once(node: &Node, error: &ServerError, is_cluster: bool) -> Error {
    match error.code() {
        "MOVED" | "ASK" if is_cluster => {
            let what =
                format!("{node} answered: {}; the key's slot moves, so ask again", said(error));
            Error::Busy { engine: SCHEME, what }
        }
        "WRONGTYPE" => {
            let calls = "calls that wait read stale entries and leases, and no others do";
            protocol(node, &format!("{}; {calls}", said(error)))
        }
        _ => refused(node, error),
    }
}

/// The error of a call whose answer is lost behind one after which nothing can be read.
#[cold]
pub(super) fn lost_behind(node: &Node) -> Error {
    unavailable(format!("{node}: the answer is lost behind a malformed one"))
}

/// A server's line, for a message.
fn said(error: &ServerError) -> String {
    one_line(LONGEST, &error.to_string())
}

fn refused_password(node: &Node) -> Error {
    unavailable(format!("{node} refused the user or the password"))
}

fn unavailable(what: String) -> Error {
    Error::Unavailable { engine: SCHEME, what, source: None }
}

fn protocol(node: &Node, message: &str) -> Error {
    Error::Protocol { engine: SCHEME, peer: node.to_string(), message: message.to_owned() }
}
