//! The greeting of a connection that is not the library's: the login, and the choice of a database.

use std::io;
use std::time::Duration;

use larder_protocol::Parsed;
use larder_protocol::resp::{Reply, parse_reply};
use larder_store::Result;
use redis::RedisConnectionInfo;

use super::address::Node;
use super::refusal;
use super::request::add;
use crate::decimal::Digits;
use crate::socket::Socket;

/// More bytes than the two answers take that a greeting has.
const ANSWERS_LEN: usize = 4 * 1024;

/// Logs in and chooses the database, where the settings ask for it.
pub(super) fn greet(
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
    let failed = |error: io::Error| refusal::failed(node, timeout, &error.into());
    socket.send(&request).map_err(failed)?;
    let mut answers = Vec::new();
    for command in commands {
        while !is_taken(node, command, &mut answers)? {
            socket.receive_onto(true, &mut answers, ANSWERS_LEN).map_err(failed)?;
        }
    }
    if answers.is_empty() { Ok(socket) } else { Err(refusal::unasked(node, &answers)) }
}

/// Takes the answer to a command away from what has arrived; `false` if it is not whole.
fn is_taken(node: &Node, command: &'static str, answers: &mut Vec<u8>) -> Result<bool> {
    let reply = parse_reply(answers, command).map_err(|_| refusal::malformed(node, answers))?;
    match reply {
        Parsed::Incomplete => Ok(false),
        Parsed::Complete(Reply::Simple(b"OK"), len) => {
            answers.drain(..len);
            Ok(true)
        }
        Parsed::Complete(Reply::Error(_), _) if command == "AUTH" => {
            Err(refusal::refused_login(node))
        }
        Parsed::Complete(reply, _) => match reply {
            Reply::Error(line) => Err(match refusal::server_error(line) {
                Some(error) => refusal::refused(node, &error),
                None => refusal::malformed(node, line),
            }),
            other => Err(refusal::unexpected(node, command, &other)),
        },
    }
}
