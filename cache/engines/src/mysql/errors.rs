//! Failures between the client and a server, as errors of the contract.

use std::error::Error as _;
use std::io::{self, ErrorKind};

use larder_store::Error;
use mysql::{DriverError, MySqlError};

use super::SCHEME;
use super::address::Address;
use crate::network::one_line;

/// A message is cut to this length.
const LONGEST: usize = 160;

/// Numbers of MySQL's errors.
mod code {
    pub(super) const TOO_MANY_CONNECTIONS: u16 = 1040;
    pub(super) const NOT_THIS_DATABASE: u16 = 1044;
    pub(super) const ACCESS_DENIED: u16 = 1045;
    pub(super) const NO_SUCH_DATABASE: u16 = 1049;
    pub(super) const SHUTTING_DOWN: u16 = 1053;
    pub(super) const KEY_TOO_LONG: u16 = 1071;
    pub(super) const TABLE_FULL: u16 = 1114;
    pub(super) const HOST_NOT_ALLOWED: u16 = 1130;
    pub(super) const NO_SUCH_TABLE: u16 = 1146;
    pub(super) const PACKET_TOO_LARGE: u16 = 1153;
    pub(super) const TOO_MANY_OF_USER: u16 = 1203;
    pub(super) const LOCK_WAIT: u16 = 1205;
    pub(super) const DEADLOCK: u16 = 1213;
    pub(super) const READ_ONLY: u16 = 1290;
    pub(super) const UNKNOWN_STATEMENT: u16 = 1243;
    pub(super) const DENIED_WITHOUT_PASSWORD: u16 = 1698;
    pub(super) const KILLED: u16 = 1927;
    pub(super) const TOOK_TOO_LONG: u16 = 1969;
    pub(super) const IDLE_TOO_LONG: u16 = 4031;
    pub(super) const ACCOUNT_LOCKED: u16 = 4151;
    pub(super) const INSECURE_TRANSPORT: u16 = 3159;
}

/// An error of the library: an error of the system, of the start of a connection, or an answer of a server.
#[cold]
pub(super) fn failed(address: &Address, error: &mysql::Error) -> Error {
    match error {
        mysql::Error::IoError(error) => lost(address, error),
        mysql::Error::CodecError(error) => {
            match error.source().and_then(|cause| cause.downcast_ref::<io::Error>()) {
                Some(error) => lost(address, error),
                None => protocol(address, one_line(LONGEST, &error.to_string())),
            }
        }
        mysql::Error::MySqlError(error) => refused(address, error),
        mysql::Error::DriverError(error) => of_driver(address, error),
        mysql::Error::TlsError(error) => untrusted(address, &error.to_string()),
        other => protocol(address, one_line(LONGEST, &other.to_string())),
    }
}

/// Whether the connection ends with this error, or its next answer is unknown.
pub(super) fn ends_connection(error: &mysql::Error) -> bool {
    match error {
        mysql::Error::MySqlError(error) => {
            let ends = [code::KILLED, code::IDLE_TOO_LONG, code::UNKNOWN_STATEMENT];
            // The class of errors in which the link is lost.
            error.state == "08S01" || ends.contains(&error.code)
        }
        _ => true,
    }
}

/// Whether the server gave up a transaction because of another one, without any effect.
pub(super) fn is_deadlock(error: &mysql::Error) -> bool {
    matches!(error, mysql::Error::MySqlError(error) if error.code == code::DEADLOCK)
}

/// Whether there is no such table.
pub(super) fn lacks_table(error: &mysql::Error) -> bool {
    matches!(error, mysql::Error::MySqlError(error) if error.code == code::NO_SUCH_TABLE)
}

/// Whether a key of a table would be longer than the server takes.
pub(super) fn is_key_too_long(error: &mysql::Error) -> bool {
    matches!(error, mysql::Error::MySqlError(error) if error.code == code::KEY_TOO_LONG)
}

/// Whether a server does not encrypt.
pub(super) fn lacks_tls(error: &mysql::Error) -> bool {
    matches!(error, mysql::Error::DriverError(DriverError::TlsNotSupported))
}

/// The error of a connection that is lost, or cannot be opened.
fn lost(address: &Address, error: &io::Error) -> Error {
    let text = one_line(LONGEST, &error.to_string());
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => timeout(address),
        ErrorKind::BrokenPipe
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::NotConnected
        | ErrorKind::UnexpectedEof => unavailable(format!("{address} closed the connection")),
        ErrorKind::InvalidData if text.contains("peer") || text.contains("certificate") => {
            untrusted(address, &text)
        }
        _ => unavailable(format!("{address}: {text}")),
    }
}

/// The error for an error answer of the server.
fn refused(address: &Address, error: &MySqlError) -> Error {
    let said = one_line(LONGEST, &error.message);
    let answered = format!("{address} answered: {said}");
    let out_of_room = said.contains("No space left on device") || said.contains("error 28 ");
    match error.code {
        code::ACCESS_DENIED
        | code::DENIED_WITHOUT_PASSWORD
        | code::ACCOUNT_LOCKED
        | code::HOST_NOT_ALLOWED => {
            unavailable(format!("{address} refused the user or the password: {said}"))
        }
        code::NOT_THIS_DATABASE => {
            unavailable(format!("{address} refused the database to this user: {said}"))
        }
        code::NO_SUCH_DATABASE => unavailable(format!(
            "{address} has no database `{}`; make it, or name another",
            address.database()
        )),
        code::INSECURE_TRANSPORT => unavailable(format!("{answered}; write ssl-mode=REQUIRED")),
        code::SHUTTING_DOWN | code::KILLED | code::IDLE_TOO_LONG | code::UNKNOWN_STATEMENT => {
            unavailable(answered)
        }
        code::TOOK_TOO_LONG => timeout(address),
        code::TOO_MANY_CONNECTIONS | code::TOO_MANY_OF_USER | code::LOCK_WAIT | code::DEADLOCK => {
            Error::Busy { engine: SCHEME, what: answered }
        }
        // A full disk has many numbers, one for each place in the server that meets it.
        code::TABLE_FULL | 1021 | 1037 | 1038 | 1041 => {
            Error::Full { engine: SCHEME, what: answered }
        }
        _ if out_of_room => Error::Full { engine: SCHEME, what: answered },
        code::NO_SUCH_TABLE => {
            protocol(address, format!("{said}; another client removed the table"))
        }
        code::PACKET_TOO_LARGE => protocol(
            address,
            format!("{said}; the server takes less than when the store was opened"),
        ),
        code::READ_ONLY => protocol(address, format!("{said}; name its primary")),
        _ => protocol(address, said),
    }
}

/// The error for an error of the library itself.
fn of_driver(address: &Address, error: &DriverError) -> Error {
    match error {
        DriverError::ConnectTimeout | DriverError::Timeout => timeout(address),
        DriverError::CouldNotConnect(Some((_, text, kind))) => unavailable(match kind {
            ErrorKind::ConnectionRefused => {
                format!("{address} refused the connection; is mysql running there?")
            }
            ErrorKind::NotFound => format!("{address} is not there; is mysql running on it?"),
            _ => format!("{address}: {}", one_line(LONGEST, text)),
        }),
        DriverError::TlsNotSupported => unavailable(format!(
            "{address} does not encrypt; write ssl-mode=DISABLED, or have it encrypt"
        )),
        DriverError::UnknownAuthPlugin(name) => unavailable(format!(
            "{address} wants a password by `{}`, which the client library does not know",
            one_line(LONGEST, name)
        )),
        DriverError::OldMysqlPasswordDisabled | DriverError::CleartextPluginDisabled => {
            unavailable(format!(
                "{address} wants the password in clear text or as a weak hash; change its \
                 authentication plugin"
            ))
        }
        other => protocol(
            address,
            one_line(LONGEST, &format!("not an answer of this protocol: {other}")),
        ),
    }
}

fn untrusted(address: &Address, text: &str) -> Error {
    let text = one_line(LONGEST, text);
    let hint = "; name the file of its authority by `ssl-ca=`";
    let hint = if text.contains("UnknownIssuer") { hint } else { "" };
    unavailable(format!("{address}: {text}{hint}"))
}

fn timeout(address: &Address) -> Error {
    Error::Timeout { engine: SCHEME, peer: address.to_string(), after: address.timeout() }
}

fn unavailable(what: String) -> Error {
    Error::Unavailable { engine: SCHEME, what, source: None }
}

/// The error of an answer that does not fit the request.
#[cold]
pub(super) fn protocol(address: &Address, message: String) -> Error {
    Error::Protocol { engine: SCHEME, peer: address.to_string(), message }
}
