//! A conversation between an application and its server, and the rows that come of it.

use larder_record::follow::{Follower, Kind, Lost};
use larder_record::{Batch, Desk, Keys};
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
pub(crate) type Talk = Vec<(From, Vec<u8>)>;

/// A conversation of lines: those that begin with `>` are the application's, those with `<` the server's. Each ends with
/// `\r\n`.
pub(crate) fn talk(text: &str) -> Talk {
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

/// Follows a conversation, whose pieces come a microsecond apart.
pub(crate) fn follow(kind: Kind, talk: &Talk) -> (Batch, Result<(), Lost>) {
    let mut desk = Desk::new(Keys::new(&[7; 16]).in_clear(true), 0, 1);
    let (batch, done) = follow_at(kind, talk, &mut desk);
    (batch, done)
}

pub(crate) fn follow_at(kind: Kind, talk: &Talk, desk: &mut Desk) -> (Batch, Result<(), Lost>) {
    let mut follower = Follower::new(kind, 0);
    let mut done = Ok(());
    let mut at = BEGIN_NS;
    for (from, bytes) in talk {
        at += 1000;
        done = match from {
            From::Application => follower.requests(bytes, at, desk),
            From::Server => follower.answers(bytes, at, desk),
        };
        if done.is_err() {
            break;
        }
    }
    follower.end(done.is_err(), desk);
    (std::mem::take(&mut desk.batch), done)
}

/// The same conversation in pieces of one byte.
pub(crate) fn bytes(talk: &Talk) -> Talk {
    talk.iter().flat_map(|(from, bytes)| bytes.iter().map(|byte| (*from, vec![*byte]))).collect()
}

/// The same conversation, with the requests that come before an answer in one piece, and the answers.
pub(crate) fn joined(talk: &Talk) -> Talk {
    let mut joined: Talk = Vec::new();
    for (from, bytes) in talk {
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

/// Checks the rows of a conversation, however its bytes arrive.
pub(crate) fn check(kind: Kind, text: &str, rows: &[&str]) {
    check_talk(kind, &talk(text), rows);
}

pub(crate) fn check_talk(kind: Kind, talk: &Talk, rows: &[&str]) {
    for (how, talk) in [("by lines", talk), ("by bytes", &bytes(talk)), ("joined", &joined(talk))] {
        let (batch, done) = follow(kind, talk);
        assert_eq!(all_shown(&batch), rows, "{how}");
        assert_eq!(done, Ok(()), "{how}");
    }
}

/// Checks that a conversation is given up, and the rows from before.
pub(crate) fn check_lost(kind: Kind, text: &str, rows: &[&str]) -> Lost {
    let (batch, done) = follow(kind, &talk(text));
    assert_eq!(all_shown(&batch), rows);
    done.unwrap_err()
}
