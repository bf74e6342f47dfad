//! An exchange between an application and its server, and the rows that come of it.

use larder_record::follow::{Follower, Kind, StopReason};
use larder_record::{Batch, Keys, Recorder};
use larder_workload::trace::{Key, Row};

/// The time of the first piece, in nanoseconds since 1970.
pub(crate) const BEGIN_NS: u64 = 1_800_000_000_000_000_000;

/// One direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Application,
    Server,
}

/// Pieces of both directions, in order.
pub(crate) type Exchange = Vec<(From, Vec<u8>)>;

/// An exchange of lines: those that begin with `>` are the application's, those with `<` the server's. Each ends with
/// `\r\n`.
pub(crate) fn exchange(text: &str) -> Exchange {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (from, line) = match line.split_at(1) {
                (">", line) => (From::Application, line),
                ("<", line) => (From::Server, line),
                _ => panic!("neither > nor <: {line}"),
            };
            let line = line.strip_prefix(' ').unwrap_or(line);
            (from, format!("{line}\r\n").into_bytes())
        })
        .collect()
}

/// Follows an exchange, whose pieces come a microsecond apart.
pub(crate) fn follow(kind: Kind, exchange: &Exchange) -> (Batch, Result<(), StopReason>) {
    let mut recorder = Recorder::new(Keys::new(&[7; 16]).in_clear(true), 0, 1);
    let (batch, done) = follow_at(kind, exchange, &mut recorder);
    (batch, done)
}

pub(crate) fn follow_at(
    kind: Kind,
    exchange: &Exchange,
    recorder: &mut Recorder,
) -> (Batch, Result<(), StopReason>) {
    let mut follower = Follower::new(kind, 0);
    let mut done = Ok(());
    let mut at = BEGIN_NS;
    for (from, bytes) in exchange {
        at += 1000;
        done = match from {
            From::Application => follower.requests(bytes, at, recorder),
            From::Server => follower.answers(bytes, at, recorder),
        };
        if done.is_err() {
            break;
        }
    }
    follower.end(done.is_err(), recorder);
    (std::mem::take(&mut recorder.batch), done)
}

/// The same conversation in pieces of one byte.
pub(crate) fn bytes(exchange: &Exchange) -> Exchange {
    exchange
        .iter()
        .flat_map(|(from, bytes)| bytes.iter().map(|byte| (*from, vec![*byte])))
        .collect()
}

/// The same conversation, with the requests that come before an answer in one piece, and the answers.
pub(crate) fn joined(exchange: &Exchange) -> Exchange {
    let mut joined: Exchange = Vec::new();
    for (from, bytes) in exchange {
        match joined.last_mut() {
            Some((last, before)) if last == from => before.extend_from_slice(bytes),
            _ => joined.push((*from, bytes.clone())),
        }
    }
    joined
}

/// A row in words: request, operation, key, size, TTL and amount where they are known, and the result.
pub(crate) fn shown(row: &Row<'_>) -> String {
    let key = match row.key {
        Key::Bytes(key) => key.escape_ascii().to_string(),
        Key::Hash(hash) => format!("#{hash:x}"),
    };
    let mut text = format!("{} {} {key}", row.request, row.operation);
    for (name, number) in [("size", row.value_size), ("ttl", row.ttl_s)] {
        if let Some(number) = number {
            text.extend([" ", name, "=", &number.to_string()]);
        }
    }
    if let Some(amount) = row.amount {
        text.extend([" by=", &amount.to_string()]);
    }
    match row.result {
        Some(result) => text + &format!(" {result}"),
        None => text + " -",
    }
}

pub(crate) fn all_shown(batch: &Batch) -> Vec<String> {
    batch.rows().map(|row| shown(&row)).collect()
}

/// Checks the rows of an exchange, however its bytes arrive.
pub(crate) fn check(kind: Kind, text: &str, rows: &[&str]) {
    check_talk(kind, &exchange(text), rows);
}

pub(crate) fn check_talk(kind: Kind, exchange: &Exchange, rows: &[&str]) {
    for (how, exchange) in
        [("by lines", exchange), ("by bytes", &bytes(exchange)), ("joined", &joined(exchange))]
    {
        let (batch, done) = follow(kind, exchange);
        assert_eq!(all_shown(&batch), rows, "{how}");
        assert_eq!(done, Ok(()), "{how}");
    }
}

/// Checks that an exchange is given up, and the rows from before.
pub(crate) fn check_lost(kind: Kind, text: &str, rows: &[&str]) -> StopReason {
    let (batch, done) = follow(kind, &exchange(text));
    assert_eq!(all_shown(&batch), rows);
    done.unwrap_err()
}
