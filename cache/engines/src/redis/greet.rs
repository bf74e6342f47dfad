//! The greeting of a connection that is not the library's: the login, and the choice of a database.

use std::io;
use std::time::Duration;

use larder_protocol::Parsed;
use larder_protocol::resp::{Reply, parse_reply};
use larder_store::Result;
use redis::{ConnectionAddr, RedisConnectionInfo};
use rustls::pki_types::ServerName;

use super::address::Node;
use super::request::add;
use super::{SCHEME, errors};
use crate::decimal::Digits;
use crate::network;
use crate::socket::{Encryption, Socket};
use larder_host::destination::Destination;

/// More bytes than the two answers take that a greeting has.
const ANSWERS_LEN: usize = 4 * 1024;

impl Node {
    /// Opens a connection that is not the library's, and greets the node as the library does.
    pub(super) fn connect(&self, timeout: Duration) -> Result<Socket> {
        let failed = |error: io::Error| errors::failed(self, timeout, &error.into());
        let info = self.client().get_connection_info();
        let (address, host) = match info.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                (Destination::Tcp(network::resolved(SCHEME, host, *port)?), &**host)
            }
            ConnectionAddr::Unix(path) => (Destination::Unix(path.clone()), ""),
            other => {
                let error = io::Error::other(format!("{other} is no address of a socket"));
                return Err(failed(error));
            }
        };
        let encryption = match self.tls() {
            Some(trust) => {
                let name = ServerName::try_from(host.to_owned());
                let name = name.map_err(|error| failed(io::Error::other(error)))?;
                Some(Encryption { config: trust.client()?, name })
            }
            None => None,
        };
        let socket = Socket::connect(&address, encryption.as_ref(), timeout).map_err(failed)?;
        greet(self, socket, info.redis_settings(), timeout)
    }
}

/// Logs in and chooses the database, where the settings ask for it.
fn greet(
    node: &Node,
    mut socket: Socket,
    settings: &RedisConnectionInfo,
    timeout: Duration,
) -> Result<Socket> {
    let mut commands = Vec::new();
    let mut request = Vec::new();
    if let Some(password) = settings.password() {
        let user = settings.username().map(str::as_bytes);
        let words: Vec<&[u8]> =
            [&b"AUTH"[..]].into_iter().chain(user).chain([password.as_bytes()]).collect();
        add(&mut request, &words);
        commands.push("AUTH");
    }
    if settings.db() != 0 {
        let number = Digits::new(settings.db().unsigned_abs());
        add(&mut request, &[b"SELECT", number.as_bytes()]);
        commands.push("SELECT");
    }
    let failed = |error: io::Error| errors::failed(node, timeout, &error.into());
    socket.send(&request).map_err(failed)?;
    let mut answers = Vec::new();
    for command in commands {
        while !is_taken(node, command, &mut answers)? {
            socket.receive_onto(true, &mut answers, ANSWERS_LEN).map_err(failed)?;
        }
    }
    if answers.is_empty() { Ok(socket) } else { Err(errors::unasked(node, &answers)) }
}

/// Takes the answer to a command away from what has arrived; `false` if it is not whole.
fn is_taken(node: &Node, command: &'static str, answers: &mut Vec<u8>) -> Result<bool> {
    let reply = parse_reply(answers, command).map_err(|_| errors::malformed(node, answers))?;
    match reply {
        Parsed::Incomplete => Ok(false),
        Parsed::Complete(Reply::Simple(b"OK"), len) => {
            answers.drain(..len);
            Ok(true)
        }
        Parsed::Complete(Reply::Error(_), _) if command == "AUTH" => {
            Err(errors::refused_login(node))
        }
        Parsed::Complete(reply, _) => match reply {
            Reply::Error(line) => Err(match errors::server_error(line) {
                Some(error) => errors::refused(node, &error),
                None => errors::malformed(node, line),
            }),
            other => Err(errors::unexpected(node, command, &other)),
        },
    }
}
