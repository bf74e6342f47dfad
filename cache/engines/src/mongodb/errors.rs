//! Faults between here and a server, as errors of the contract.

use std::io;
use std::time::Duration;

use larder_store::Error;
use mongodb::error::{CommandError, Error as DriverError, ErrorKind, WriteError, WriteFailure};

use super::SCHEME;
use crate::network::one_line;

/// A message is cut to this length.
const LONGEST: usize = 200;

/// The code of servers for a document whose key is there already.
const DUPLICATE_KEY: i32 = 11000;

/// The code of servers for the creation of a collection that is there already.
const NAMESPACE_EXISTS: i32 = 48;

/// The code of servers for the indexes of a collection that is not there.
const NAMESPACE_NOT_FOUND: i32 = 26;

/// The meaning of an error of the driver.
#[cold]
pub(super) fn failed(peer: &str, timeout: Duration, error: &DriverError) -> Error {
    let unavailable = |what: String| Error::Unavailable { engine: SCHEME, what, source: None };
    match &*error.kind {
        ErrorKind::Io(source) => lost(peer, timeout, source),
        ErrorKind::ServerSelection { message, .. } => unfound(peer, timeout, message),
        ErrorKind::Authentication { .. } => {
            unavailable(format!("{peer} refused the user or the password"))
        }
        ErrorKind::ConnectionPoolCleared { message, .. } => {
            unavailable(format!("{peer}: {}", cause(message)))
        }
        ErrorKind::Command(CommandError { code, message, .. })
        | ErrorKind::Write(WriteFailure::WriteError(WriteError { code, message, .. })) => {
            refused(peer, *code, message)
        }
        ErrorKind::Write(WriteFailure::WriteConcernError(error)) => {
            concern_not_met(peer, error.code, &error.message)
        }
        ErrorKind::InvalidArgument { message, .. }
        | ErrorKind::InvalidTlsConfig { message, .. } => {
            Error::InvalidOptions { engine: SCHEME, reason: one_line(LONGEST, message) }
        }
        ErrorKind::DnsResolve { message, .. } => unavailable(one_line(LONGEST, message)),
        _ => protocol(peer, &message(error)),
    }
}

/// A server has not enough others that have a write.
#[cold]
pub(super) fn concern_not_met(peer: &str, code: i32, message: &str) -> Error {
    let said = format!("the write is done, but its write concern is not met: {message}");
    refused(peer, code, &said)
}

/// A server answered with an error.
#[cold]
pub(super) fn refused(peer: &str, code: i32, message: &str) -> Error {
    let said = one_line(LONGEST, message);
    let unavailable = |what: String| Error::Unavailable { engine: SCHEME, what, source: None };
    match code {
        // Unauthorized, when the server does not know the user, and AuthenticationFailed.
        13 if message.contains("requires authentication") => {
            unavailable(format!("{peer} asks for a password; write mongodb://user:password@host"))
        }
        18 => unavailable(format!("{peer} refused the user or the password")),
        // OutOfDiskSpace, ExceededMemoryLimit.
        14031 | 146 => Error::Full { engine: SCHEME, what: format!("{peer} answered: {said}") },
        _ if message.contains("No space left on device") => {
            Error::Full { engine: SCHEME, what: format!("{peer} answered: {said}") }
        }
        // WriteConflict, LockTimeout, TemporarilyUnavailable.
        112 | 24 | 365 => Error::Busy { engine: SCHEME, what: format!("{peer} answered: {said}") },
        // NotWritablePrimary and its kin, shutting down, stepping down.
        10107 | 13435 | 11600 | 11602 | 189 | 91 => unavailable(format!("{peer} answered: {said}")),
        _ => protocol(peer, &said),
    }
}

/// A connection broke, or no server accepted it.
#[cold]
pub(super) fn lost(peer: &str, timeout: Duration, source: &io::Error) -> Error {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, TimedOut, UnexpectedEof,
        WouldBlock,
    };
    let what = match source.kind() {
        TimedOut | WouldBlock => {
            return Error::Timeout { engine: SCHEME, peer: peer.into(), after: timeout };
        }
        ConnectionRefused => format!("{peer} refused the connection; is mongod running there?"),
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => {
            format!("{peer} closed the connection")
        }
        _ => format!("{peer}: {}", cause(&source.to_string())),
    };
    Error::Unavailable { engine: SCHEME, what, source: None }
}

/// No server that can be asked was found within the time for it. The driver tells the whole topology; the message names
/// the fault of the first server only.
fn unfound(peer: &str, timeout: Duration, message: &str) -> Error {
    let what = match message.split_once("Error: Kind: ") {
        Some((_, cause_text)) if cause_text.contains("Connection refused") => {
            format!("{peer} refused the connection; is mongod running there?")
        }
        Some((_, cause_text)) if is_timeout(cause_text) => {
            return Error::Timeout { engine: SCHEME, peer: peer.into(), after: timeout };
        }
        Some((_, cause_text)) => format!("{peer}: {}", cause(cause_text)),
        None if message.contains("wire version") => {
            format!("{peer}: {}", one_line(LONGEST, message))
        }
        // No server has answered yet, and no server has failed.
        None if message.contains("Type: Unknown") => {
            return Error::Timeout { engine: SCHEME, peer: peer.into(), after: timeout };
        }
        None => format!(
            "{peer}: no server for this operation was found: {}",
            one_line(LONGEST, message)
        ),
    };
    Error::Unavailable { engine: SCHEME, what, source: None }
}

/// Whether the driver reports that a server did not answer in time.
fn is_timeout(cause_text: &str) -> bool {
    let cause_text = cause_text.split(", labels: ").next().unwrap_or_default();
    cause_text.contains("timed out") || cause_text.contains("timeout")
}

/// The text of a driver's error behind its own headings.
fn cause(cause_text: &str) -> String {
    let cause_text = cause_text.rsplit("failed with: Kind: ").next().unwrap_or(cause_text);
    let cause_text = cause_text.split(", labels: ").next().unwrap_or_default();
    let cause_text = cause_text.trim_start_matches("Kind: ").trim_start_matches("I/O error: ");
    let cause_text = one_line(LONGEST, cause_text);
    if cause_text.contains("invalid peer certificate") {
        return format!("{cause_text}; name the file of its authority by `tlsCAFile=`");
    }
    cause_text
}

/// The text of a driver's error, without labels and sources.
pub(super) fn message(error: &DriverError) -> String {
    one_line(LONGEST, &error.kind.to_string())
}

/// The driver's objection to the options of a URL.
#[cold]
pub(super) fn unusable(error: &DriverError, reason: String) -> Error {
    match &*error.kind {
        ErrorKind::DnsResolve { .. } => {
            Error::Unavailable { engine: SCHEME, what: reason, source: None }
        }
        _ => Error::InvalidOptions { engine: SCHEME, reason },
    }
}

/// A text without the password.
pub(super) fn masked(text: &str, password: Option<&str>) -> String {
    match password.filter(|password| !password.is_empty()) {
        Some(password) => text.replace(password, "***"),
        None => text.into(),
    }
}

/// Whether a write was refused because the key is there already.
pub(super) fn is_duplicate(error: &DriverError) -> bool {
    match &*error.kind {
        ErrorKind::Command(error) => error.code == DUPLICATE_KEY,
        ErrorKind::Write(WriteFailure::WriteError(error)) => error.code == DUPLICATE_KEY,
        _ => false,
    }
}

/// The same, by the code of one part of a command.
pub(super) fn is_duplicate_code(code: i32) -> bool {
    code == DUPLICATE_KEY
}

/// Whether a collection could not be made because it is there already.
pub(super) fn is_there(error: &DriverError) -> bool {
    matches!(&*error.kind, ErrorKind::Command(error) if error.code == NAMESPACE_EXISTS)
}

/// Whether a collection was asked for that is not there.
pub(super) fn is_missing(error: &DriverError) -> bool {
    matches!(&*error.kind, ErrorKind::Command(error) if error.code == NAMESPACE_NOT_FOUND)
}

/// An invalid answer, or an error that the contract has no word for.
#[cold]
pub(super) fn protocol(peer: &str, message: &str) -> Error {
    Error::Protocol { engine: SCHEME, peer: peer.into(), message: one_line(LONGEST, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(5);

    fn selection(cause_text: &str) -> String {
        let message = format!(
            "Server selection timeout: No available servers. Topology: {{ Type: Single, Servers: [ {{ Address: h1:1, \
             Type: Unknown{cause_text} }} ] }}"
        );
        unfound("h1:1", TIMEOUT, &message).to_string()
    }

    #[test]
    fn a_topology_is_cut_down_to_its_error() {
        for (cause_text, message) in [
            (
                ", Error: Kind: I/O error: Connection refused (os error 111), labels: {}",
                "mongodb: h1:1 refused the connection; is mongod running there?",
            ),
            (
                ", Error: Kind: I/O error: timed out, labels: {}",
                "mongodb: no answer within 5000 ms from h1:1",
            ),
            ("", "mongodb: no answer within 5000 ms from h1:1"),
            (
                ", Error: Kind: I/O error: invalid peer certificate: UnknownIssuer, labels: {\"a\"}, source: None",
                "mongodb: h1:1: invalid peer certificate: UnknownIssuer; name the file of its authority by `tlsCAFile=`",
            ),
        ] {
            assert_eq!(selection(cause_text), message);
        }
    }

    #[test]
    fn an_error_of_a_server_has_its_kind() {
        for (code, message, kind) in [
            (13, "command find requires authentication", "unavailable"),
            (13, "not authorized on x to execute", "protocol"),
            (14031, "too little room", "full"),
            (8, "write failed: 28: No space left on device", "full"),
            (112, "WriteConflict", "busy"),
            (10107, "not primary", "unavailable"),
            (2, "cannot use 'w' > 1 when a host is not replicated", "protocol"),
        ] {
            let error = refused("h1:1", code, message);
            assert_eq!(error.kind(), kind, "{error}");
        }
    }
}
