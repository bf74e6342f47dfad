//! Failures between the client and the server, as errors of the contract.

use std::error::Error as _;
use std::io;

use larder_store::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use super::SCHEME;
use super::address::Peer;
use crate::network::one_line;

/// A message is cut to this length.
const LONGEST: usize = 160;

/// The error for an error of the driver: of the system, of the start of a connection, or an answer of the server.
#[cold]
pub(super) fn failed(peer: &Peer, error: &tokio_postgres::Error) -> Error {
    if let Some(refusal) = error.as_db_error() {
        return refused(peer, refusal);
    }
    // The driver's own text names the place; the source of its error names the fault.
    let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let text = one_line(LONGEST, &cause);
    let io = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let what = match io.map(io::Error::kind) {
        _ if error.is_closed() => format!("{peer} closed the connection"),
        Some(io::ErrorKind::ConnectionRefused) => {
            format!("{peer} refused the connection; is postgres running there?")
        }
        Some(io::ErrorKind::NotFound) => {
            format!("{peer} is not there; is postgres running on it?")
        }
        Some(
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe,
        ) => format!("{peer} closed the connection"),
        _ if text == "password missing" => wants_password(peer),
        _ if text.contains("not support TLS") => {
            format!("{peer} takes no TLS; write sslmode=prefer or sslmode=disable")
        }
        _ if text.contains("UnknownIssuer") || text.contains("BadSignature") => {
            format!("{peer}: {text}; name the file of its authority by `sslrootcert=`")
        }
        _ => format!("{peer}: {text}"),
    };
    Error::Unavailable { engine: SCHEME, what, source: None }
}

/// Whether the connection is still usable after this error: the server has answered, and goes on.
pub(super) fn is_harmless(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|refusal| {
        let goes_on = match refusal.parsed_severity() {
            Some(severity) => severity == Severity::Error,
            None => refusal.severity() == "ERROR",
        };
        // A statement that is no longer prepared, or not for this table, never becomes valid again on this connection.
        let code = refusal.code();
        goes_on
            && *code != SqlState::INVALID_SQL_STATEMENT_NAME
            && *code != SqlState::FEATURE_NOT_SUPPORTED
    })
}

/// Whether the server gave up a statement, unfinished, in favour of another transaction.
pub(super) fn is_deadlock(error: &tokio_postgres::Error) -> bool {
    let code = error.code();
    code == Some(&SqlState::T_R_DEADLOCK_DETECTED)
        || code == Some(&SqlState::T_R_SERIALIZATION_FAILURE)
}

/// The error for an error answer of the server.
#[cold]
fn refused(peer: &Peer, refusal: &DbError) -> Error {
    let code = refusal.code();
    let said = one_line(LONGEST, refusal.message());
    let unavailable = |what: String| Error::Unavailable { engine: SCHEME, what, source: None };
    let answered = || format!("{peer} answered: {said}");
    match code.code() {
        "28P01" => unavailable(format!("{peer} refused the user or the password")),
        "28000" | "3D000" => unavailable(answered()),
        "53100" => full(format!("{}; make room on its disk", answered())),
        "53200" => full(format!("{}; give it more memory", answered())),
        "57014" if said.contains("timeout") => {
            Error::Timeout { engine: SCHEME, peer: peer.to_string(), after: peer.timeout() }
        }
        // Too many connections, or a transaction of another client in the way.
        "53300" | "55P03" | "40P01" | "40001" => Error::Busy { engine: SCHEME, what: answered() },
        // The server is shutting down, has crashed, or is starting up.
        class if class.starts_with("57P") => unavailable(answered()),
        class if class.starts_with("08") => unavailable(answered()),
        "25006" => protocol(peer, format!("{said}; name its primary")),
        "42501" => protocol(peer, format!("{said}; grant it, or name another database")),
        _ => protocol(peer, said),
    }
}

fn full(what: String) -> Error {
    Error::Full { engine: SCHEME, what }
}

fn wants_password(peer: &Peer) -> String {
    format!("{peer} asks for a password; write postgresql://user:password@host/database")
}

/// The error of an answer that does not fit the request.
#[cold]
pub(super) fn protocol(peer: &Peer, message: String) -> Error {
    Error::Protocol { engine: SCHEME, peer: peer.to_string(), message }
}

/// The error of a server that does not answer in time.
#[cold]
pub(super) fn timeout(peer: &Peer) -> Error {
    Error::Timeout { engine: SCHEME, peer: peer.to_string(), after: peer.timeout() }
}
