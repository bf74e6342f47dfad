//! Failures between the client and a server, as errors of the contract.

use std::fmt::Debug;
use std::time::Duration;

use larder_protocol::shown;
use larder_store::{Error, Result};
use redis::{ErrorKind, RedisError, ServerError, Value};

use super::SCHEME;
use super::address::Node;
use crate::network::one_line;

/// A message is cut to this length.
const LONGEST: usize = 160;

/// The error for an error of the library: of the system, of the start of a connection, or of a malformed answer.
#[cold]
pub(super) fn failed(node: &Node, timeout: Duration, error: &RedisError) -> Error {
    if error.is_timeout() {
        return Error::Timeout { engine: SCHEME, peer: node.to_string(), after: timeout };
    }
    let text = one_line(LONGEST, &error.to_string());
    let what = match error.kind() {
        ErrorKind::AuthenticationFailed => refused_password(node),
        ErrorKind::Parse => {
            return protocol(node, format!("not an answer of this protocol: {text}"));
        }
        // The library chooses the database before any password is asked for.
        ErrorKind::Server(_) if error.detail() == Some("Authentication required.") => {
            wants_password(node)
        }
        ErrorKind::Server(_) | ErrorKind::Extension => {
            return protocol(node, one_line(LONGEST, error.detail().unwrap_or(&text)));
        }
        _ if error.is_connection_refusal() && node.host().is_none() => {
            format!("{node} is not there; is redis running on it?")
        }
        _ if error.is_connection_refusal() => {
            format!("{node} refused the connection; is redis running there?")
        }
        _ if error.is_connection_dropped() => format!("{node} closed the connection"),
        _ if text.contains("invalid peer certificate") => {
            format!("{node}: {text}; name the file of its authority by `ca=`")
        }
        _ => format!("{node}: {text}"),
    };
    Error::Unavailable { engine: SCHEME, what, source: None }
}

/// The error for an error answer of a server.
#[cold]
pub(super) fn refused(node: &Node, refusal: &ServerError) -> Error {
    let (code, details) = (refusal.code(), refusal.details().unwrap_or_default());
    let said = one_line(LONGEST, &format!("{code} {details}"));
    let unavailable = |what: String| Error::Unavailable { engine: SCHEME, what, source: None };
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
        "ERR" if details.starts_with("max number of clients") => {
            Error::Busy { engine: SCHEME, what: format!("{node} answered: {said}") }
        }
        "CLUSTERDOWN" | "MASTERDOWN" => unavailable(format!("{node} answered: {said}")),
        "WRONGPASS" => unavailable(refused_password(node)),
        "NOAUTH" => unavailable(wants_password(node)),
        "MOVED" | "ASK" => {
            protocol(node, format!("{said}; the server does not tell its cluster's slots"))
        }
        "READONLY" => protocol(node, format!("{said}; name its primary")),
        _ => protocol(node, said),
    }
}

/// The error of a request that the nodes of a cluster redirect from one to the next.
#[cold]
pub(super) fn sent_around(node: &Node, n_times: usize, slot: u16) -> Error {
    protocol(
        node,
        format!("its cluster redirected a request {n_times} times; no node owns slot {slot}"),
    )
}

/// The error of a node that names another node without its host.
#[cold]
pub(super) fn unknown_host(reporter: &Node, port: u16) -> Error {
    let what = format!("{reporter} does not know the host of its cluster's node on port {port}");
    Error::Unavailable { engine: SCHEME, what, source: None }
}

/// The error of an answer that does not fit the command.
#[cold]
pub(super) fn unexpected(node: &Node, command: &str, answer: &dyn Debug) -> Error {
    protocol(node, one_line(LONGEST, &format!("not an answer to {command}: {answer:?}")))
}

/// Whether a command has found its key, or a script what it was for.
pub(super) fn found(node: &Node, command: &str, answer: &Value) -> Result<bool> {
    match answer {
        Value::Int(n) => Ok(*n > 0),
        other => Err(unexpected(node, command, other)),
    }
}

/// The error of bytes that no server of this protocol sends.
#[cold]
pub(super) fn malformed(node: &Node, received: &[u8]) -> Error {
    protocol(node, format!("not an answer of this protocol: {}", shown(received)))
}

/// The error of an answer that no request asked for.
#[cold]
pub(super) fn unasked(node: &Node, received: &[u8]) -> Error {
    protocol(node, format!("an answer without a request: {}", shown(received)))
}

/// The error answer that this line is, where it is readable.
pub(super) fn server_error(line: &[u8]) -> Option<ServerError> {
    let answer = [b"-", line, b"\r\n"].concat();
    match redis::parse_redis_value(&answer) {
        Ok(Value::ServerError(error)) => Some(error),
        _ => None,
    }
}

/// The error for an error answer to a request that is sent once and to one node.
#[cold]
pub(super) fn refused_at_once(node: &Node, error: &ServerError, is_cluster: bool) -> Error {
    let said = one_line(LONGEST, &format!("{} {}", error.code(), error.details().unwrap_or("")));
    match error.code() {
        "MOVED" | "ASK" if is_cluster => {
            let what = format!("{node} answered: {said}; the key's slot moves, so ask again");
            Error::Busy { engine: SCHEME, what }
        }
        "WRONGTYPE" => {
            let calls = "calls that wait read stale entries and leases, and no others do";
            protocol(node, format!("{said}; {calls}"))
        }
        _ => refused(node, error),
    }
}

/// The error of a login that a node refuses.
#[cold]
pub(super) fn refused_login(node: &Node) -> Error {
    Error::Unavailable { engine: SCHEME, what: refused_password(node), source: None }
}

#[cold]
pub(super) fn closed(node: &Node) -> Error {
    Error::Unavailable { engine: SCHEME, what: format!("{node} is not connected"), source: None }
}

fn wants_password(node: &Node) -> String {
    format!("{node} asks for a password; write redis://user:password@host")
}

fn refused_password(node: &Node) -> String {
    format!("{node} refused the user or the password")
}

fn protocol(node: &Node, message: String) -> Error {
    Error::Protocol { engine: SCHEME, peer: node.to_string(), message }
}
