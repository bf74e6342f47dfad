//! Connections to Redis.

use larder_record::follow::{Kind, StopReason};

use crate::exchange::{Exchange, From, bytes, check, check_talk, exchange, follow, joined};

/// An exchange in which requests are words, and answers are parts of RESP: `> GET a` and `< $1/x`.
fn redis(text: &str) -> Exchange {
    let lines = exchange(text).into_iter();
    lines
        .map(|(from, line)| {
            let line = String::from_utf8(line).unwrap();
            let line = line.trim_end();
            let wire = match from {
                From::Application => request(line),
                From::Server => format!("{}\r\n", line.replace('/', "\r\n")),
            };
            (from, wire.into_bytes())
        })
        .collect()
}

fn request(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut wire = format!("*{}\r\n", words.len());
    for word in words {
        wire.extend(["$", &word.len().to_string(), "\r\n", word, "\r\n"]);
    }
    wire
}

fn rows(text: &str, rows: &[&str]) {
    check_talk(Kind::Redis, &redis(text), rows);
}

fn lost(text: &str) -> StopReason {
    follow(Kind::Redis, &redis(text)).1.unwrap_err()
}

#[test]
fn an_expiry_in_the_past_is_a_delete() {
    rows(
        "> SET a 1
         < +OK
         > EXPIRE a -1
         < :1
         > PEXPIREAT a 1
         < :0",
        &["0 set a size=1 ttl=0 stored", "1 delete a deleted", "2 delete a not_found"],
    );
}

#[test]
fn every_command_of_a_cache() {
    rows(
        "> SET a hello EX 60
         < +OK
         > get a
         < $5/hello
         > GET b
         < $-1
         > GET b
         < _
         > SET a x PX 1500 NX
         < $-1
         > SET a x XX KEEPTTL
         < +OK
         > SET a xy EXAT 1800000090 GET
         < $1/x
         > SETNX a x
         < :0
         > SETEX a 60 xx
         < +OK
         > PSETEX a 2001 xx
         < +OK
         > GETSET a yyy
         < $2/xx
         > GETEX a EX 90
         < $3/yyy
         > GETEX a
         < $3/yyy
         > GETEX a PERSIST
         < $3/yyy
         > GETDEL a
         < $3/yyy
         > GETDEL a
         < $-1
         > MSET a 1 b 22
         < +OK
         > MGET a c b
         < *3/$1/1/$-1/$2/22
         > APPEND a !!
         < :3
         > DEL a b
         < :2
         > UNLINK a
         < :0
         > DEL a b
         < :1
         > EXISTS a
         < :1
         > INCR n
         < :10
         > DECRBY n 4
         < :6
         > INCRBY n -4
         < :2
         > EXPIRE a 30
         < :1
         > PEXPIRE a 100
         < :0
         > TOUCH a
         < :1",
        &[
            "0 set a size=5 ttl=60 stored",
            "1 get a size=5 hit",
            "2 get b miss",
            "3 get b miss",
            "4 add a size=1 ttl=2 not_stored",
            "5 replace a size=1 stored",
            "6 get a size=1 ttl=90 hit",
            "6 set a size=2 ttl=90 stored",
            "7 add a size=1 ttl=0 not_stored",
            "8 set a size=2 ttl=60 stored",
            "9 set a size=2 ttl=3 stored",
            "10 get a size=2 ttl=0 hit",
            "10 set a size=3 ttl=0 stored",
            "11 gat a size=3 ttl=90 hit",
            "12 get a size=3 hit",
            "13 gat a size=3 ttl=0 hit",
            "14 get a size=3 hit",
            "14 delete a deleted",
            "15 get a miss",
            "15 delete a not_found",
            "16 set a size=1 ttl=0 stored",
            "16 set b size=2 ttl=0 stored",
            "17 get a size=1 hit",
            "17 get c miss",
            "17 get b size=2 hit",
            "18 append a size=2 ttl=0 stored",
            "19 delete a deleted",
            "19 delete b deleted",
            "20 delete a not_found",
            "21 delete a -",
            "21 delete b -",
            "22 get a hit",
            "23 incr n size=2 ttl=0 by=1 stored",
            "24 decr n size=1 ttl=0 by=4 stored",
            "25 decr n size=1 ttl=0 by=4 stored",
            "26 touch a ttl=30 touched",
            "27 touch a ttl=1 not_found",
            "28 touch a touched",
        ],
    );
}

#[test]
fn other_commands_pass_through() {
    rows(
        "> HELLO 3 AUTH user secret
         < %2/+server/+redis/+proto/:3
         > AUTH secret
         < +OK
         > HSET h a 1
         < :1
         > HGETALL h
         < %1/$1/a/$1/1
         > LRANGE l 0 -1
         < *2/$1/a/*2/$1/b/*0
         > INCRBYFLOAT f 1.5
         < ,1.5
         > PING
         < +PONG
         > SMEMBERS s
         < ~2/$1/a/$1/b
         > CLIENT SETNAME x
         < +OK
         > CONFIG GET x
         < |1/+ttl/:3600/*0
         > DEBUG x
         < =5/txt:x
         > GET a
         < |1/+popularity/,0.5/$1/x
         > WAIT 0 0
         < (3492890328409238509324850943850943825024385
         > ECHO x
         < !9/ERR wrong
         > QUIT
         < +OK",
        &["11 get a size=1 hit"],
    );
}

#[test]
fn errors_are_results() {
    rows(
        "> GET a
         < -WRONGTYPE Operation against a key holding the wrong kind of value
         > GET
         < -ERR wrong number of arguments for 'get' command
         > MGET a b
         < -MOVED 3999 127.0.0.1:6381
         > SET a 1 EX x
         < -ERR value is not an integer or out of range
         > GET a
         < $0/",
        &[
            "0 get a error",
            "2 get a error",
            "2 get b error",
            "3 set a size=1 error",
            "4 get a size=0 hit",
        ],
    );
}

#[test]
fn the_result_of_what_was_never_answered_is_unknown() {
    rows(
        "> GET a
         < $-1
         > SET a 1
         > GET a",
        &["0 get a miss", "1 set a size=1 ttl=0 -", "2 get a -"],
    );
}

#[test]
fn a_transaction_has_its_answers_at_its_end() {
    rows(
        "> MULTI
         < +OK
         > SET a 1
         < +QUEUED
         > MGET a b
         < +QUEUED
         > HSET h a 1
         < +QUEUED
         > GET a
         < +QUEUED
         > DEL a b
         < +QUEUED
         > EXEC
         < *5/+OK/*2/$1/1/$-1/:1/-WRONGTYPE x/:2
         > GET a
         < $-1",
        &[
            "1 set a size=1 ttl=0 stored",
            "2 get a size=1 hit",
            "2 get b miss",
            "4 get a error",
            "5 delete a deleted",
            "5 delete b deleted",
            "7 get a miss",
        ],
    );
}

#[test]
fn a_transaction_that_is_not_done_leaves_no_rows() {
    let done = &["9 get a miss"];
    rows(
        "> WATCH a
         < +OK
         > MULTI
         < +OK
         > SET a 1
         < +QUEUED
         > EXEC
         < *-1
         > MULTI
         < +OK
         > SET a 1
         < +QUEUED
         > DISCARD
         < +OK
         > MULTI
         < +OK
         > EXEC
         < *0
         > GET a
         < $-1",
        done,
    );
    rows(
        "> MULTI
         < +OK
         > SET a
         < -ERR wrong number of arguments
         > GET a
         < +QUEUED
         > EXEC
         < -EXECABORT Transaction discarded because of previous errors.
         > GET a
         < $-1",
        &["1 set a ttl=0 error", "4 get a miss"],
    );
}

#[test]
fn a_pipelined_transaction_is_followed_by_its_answers() {
    rows(
        "> MULTI
         > GET a
         > EXEC
         > GET b
         < +OK
         < +QUEUED
         < *1/$1/x
         < $1/y",
        &["1 get a size=1 hit", "3 get b size=1 hit"],
    );
    // Without the right to begin it, the commands are done at once.
    rows(
        "> MULTI
         > GET a
         > EXEC
         < -NOPERM this user has no permissions to run the 'multi' command
         < $1/x
         < -ERR EXEC without MULTI",
        &["1 get a size=1 hit"],
    );
}

#[test]
fn answers_that_are_left_out() {
    rows(
        "> CLIENT REPLY SKIP
         > SET a 1
         > GET a
         < $1/1
         > CLIENT REPLY OFF
         > SET a 1
         > GET a
         > CLIENT REPLY ON
         < +OK
         > GET a
         < $1/1",
        &[
            "1 set a size=1 ttl=0 -",
            "2 get a size=1 hit",
            "4 set a size=1 ttl=0 -",
            "5 get a -",
            "7 get a size=1 hit",
        ],
    );
}

#[test]
fn pushes_are_no_answers() {
    rows(
        "> HELLO 3
         < %1/+proto/:3
         > CLIENT TRACKING ON
         < +OK
         > SUBSCRIBE x y
         < >3/$9/subscribe/$1/x/:1
         < >3/$9/subscribe/$1/y/:2
         > GET a
         < >2/$10/invalidate/*1/$1/a
         < $1/1
         > MGET a b
         < >3/$7/message/$1/x/$2/hi
         < *2/$7/message/$-1
         > UNSUBSCRIBE
         < >3/$11/unsubscribe/$1/x/:1
         < >3/$7/message/$1/y/$2/hi
         < >3/$11/unsubscribe/$1/y/:0
         > GET b
         < _",
        &["3 get a size=1 hit", "4 get a size=7 hit", "4 get b miss", "6 get b miss"],
    );
}

#[test]
fn subscriptions_of_the_older_protocol_come_and_go() {
    rows(
        "> GET a
         < $1/1
         > SUBSCRIBE x y
         > PSUBSCRIBE p*
         < *3/$9/subscribe/$1/x/:1
         < *3/$7/message/$1/x/$2/hi
         < *3/$9/subscribe/$1/y/:2
         < *3/$10/psubscribe/$2/p*/:3
         < *4/$8/pmessage/$2/p*/$2/px/$2/hi
         > PING
         < *2/$4/pong/$0/
         > UNSUBSCRIBE
         < *3/$11/unsubscribe/$1/x/:2
         < *3/$11/unsubscribe/$1/y/:1
         > PUNSUBSCRIBE p*
         < *3/$12/punsubscribe/$2/p*/:0
         > UNSUBSCRIBE
         < *3/$11/unsubscribe/$-1/:0
         > MGET a b
         < *2/$7/message/$1/2
         > RESET
         < +RESET
         > GET a
         < $1/1",
        &["0 get a size=1 hit", "7 get a size=7 hit", "7 get b size=1 hit", "9 get a size=1 hit"],
    );
}

#[test]
fn another_database_has_other_keys() {
    rows(
        "> GET a
         < $1/1
         > SELECT 3
         < +OK
         > GET a
         < $1/1
         > SELECT 99
         < -ERR DB index is out of range
         > GET a
         < $1/1
         > SELECT 0
         < +OK
         > GET a
         < $1/1",
        &[
            "0 get a size=1 hit",
            "2 get db3:a size=1 hit",
            "4 get db3:a size=1 hit",
            "6 get a size=1 hit",
        ],
    );
}

#[test]
fn typed_lines_are_requests_too() {
    check(
        Kind::Redis,
        "> PING
         < +PONG
         > set  a hello
         < +OK
         > 
         > get a
         < $5
         < hello
         > ECHO \"a b\"
         < $3
         < a b",
        &["1 set a size=5 ttl=0 stored", "2 get a size=5 hit"],
    );
}

#[test]
fn another_use_of_the_connection_ends_the_following() {
    for text in ["> MONITOR\n< +OK", "> SYNC", "> MULTI\n< +OK\n> CLIENT REPLY OFF\n< +QUEUED"] {
        let lost = lost(text);
        assert!(!lost.is_trouble(), "{text}: {lost}");
    }
    for text in ["> GET a\n< +OK", "< $1/x", "> GET a\n< *1/$1/a", "> GET a\n< HTTP/1.1 400"] {
        let lost = lost(text);
        assert!(lost.is_trouble(), "{text}: {lost}");
    }
    // A server that is full says so to nobody.
    rows("< -ERR max number of clients reached", &[]);
}

#[test]
fn a_huge_value_passes_in_pieces() {
    let value = "v".repeat(1 << 20);
    let text = format!("> SET a {value}\n< +OK\n> GET a\n< $1048576/{value}");
    let exchange = redis(&text);
    for exchange in [&joined(&exchange), &pieces(&exchange, 1000)] {
        let (batch, done) = follow(Kind::Redis, exchange);
        assert_eq!((batch.len(), done), (2, Ok(())));
        assert!(batch.rows().all(|row| row.value_size == Some(1 << 20)));
    }
    assert_eq!(follow(Kind::Redis, &bytes(&redis("> SET a 1\n< +OK"))).0.len(), 1);
}

fn pieces(exchange: &Exchange, len: usize) -> Exchange {
    exchange
        .iter()
        .flat_map(|(from, bytes)| bytes.chunks(len).map(|piece| (*from, piece.to_vec())))
        .collect()
}
