//! Requests of all commands, whole, in pieces and with faults.

use super::*;
use crate::meta::arithmetic::Change;
use crate::storage::{StorageMode, StorageRequest};

const OPAQUE: u32 = 0xdead_beef;

/// A request with these parts.
fn request(opcode: u8, extras: &[u8], key: &[u8], value: &[u8], version: u64) -> Vec<u8> {
    let body_len = u32::try_from(extras.len() + key.len() + value.len()).unwrap();
    let key_len = u16::try_from(key.len()).unwrap();
    let mut bytes = vec![REQUEST_MAGIC, opcode];
    bytes.extend_from_slice(&key_len.to_be_bytes());
    bytes.extend_from_slice(&[u8::try_from(extras.len()).unwrap(), 0, 0, 0]);
    bytes.extend_from_slice(&body_len.to_be_bytes());
    bytes.extend_from_slice(&OPAQUE.to_be_bytes());
    bytes.extend_from_slice(&version.to_be_bytes());
    for part in [extras, key, value] {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// The same with another length of its body.
fn announcing(mut request: Vec<u8>, body_len: u32) -> Vec<u8> {
    request[8..12].copy_from_slice(&body_len.to_be_bytes());
    request
}

fn stored(mode: StorageMode, version: Option<u64>) -> Command<'static> {
    let (flags, exptime) = match mode {
        StorageMode::Append | StorageMode::Prepend => (0, 0),
        _ => (7, 0x1c20),
    };
    let header = StorageRequest { key: b"Hello", len: 5, flags, exptime, mode };
    Command::Set(set::Request { header, version })
}

fn read(wants_key: bool, exptime: Option<i64>) -> Command<'static> {
    Command::Get(get::Request { key: b"Hello", wants_key, exptime })
}

fn changed(is_down: bool, absent: Option<(u64, i64)>, version: Option<u64>) -> Command<'static> {
    let change = Change { delta: 1 << 40, is_down, absent };
    Command::Arithmetic(arithmetic::Request { key: b"Hello", change, version })
}

/// A request of each form, and its command.
fn requests() -> Vec<(Vec<u8>, Command<'static>)> {
    let set = [0, 0, 0, 7, 0, 0, 0x1c, 0x20];
    let time = [0, 0, 0, 60];
    let mut number = [0; 20];
    number[2] = 1;
    number[15] = 9;
    number[19] = 60;
    let mut strict = number;
    strict[16..].fill(0xff);
    let key = b"Hello";
    let plain = request(opcode::SASL_AUTH, b"", b"PLAIN", b"\0user\0pass", 0);
    let sasl = |is_step| Command::Sasl(sasl::Request { mechanism: b"PLAIN", len: 10, is_step });
    let delete = |version| Command::Delete(delete::Request { key, version });
    vec![
        (request(opcode::GET, b"", key, b"", 0), read(false, None)),
        (request(opcode::GETQ, b"", key, b"", 0), read(false, None)),
        (request(opcode::GETK, b"", key, b"", 0), read(true, None)),
        (request(opcode::GETKQ, b"", key, b"", 0), read(true, None)),
        (request(opcode::GAT, &time, key, b"", 0), read(false, Some(60))),
        (request(opcode::GATQ, &time, key, b"", 0), read(false, Some(60))),
        (request(opcode::GATK, &time, key, b"", 0), read(true, Some(60))),
        (request(opcode::GATKQ, &[0xff; 4], key, b"", 0), read(true, Some(0xffff_ffff))),
        (
            request(opcode::TOUCH, &time, key, b"", 0),
            Command::Touch(touch::Request { key, exptime: 60 }),
        ),
        (request(opcode::SET, &set, key, b"World", 0), stored(StorageMode::Set, None)),
        (request(opcode::SETQ, &set, key, b"World", 8), stored(StorageMode::Cas(8), None)),
        (request(opcode::ADD, &set, key, b"World", 0), stored(StorageMode::Add, None)),
        (request(opcode::ADDQ, &set, key, b"World", 8), stored(StorageMode::Cas(8), None)),
        (request(opcode::REPLACE, &set, key, b"World", 0), stored(StorageMode::Replace, None)),
        (request(opcode::REPLACEQ, &set, key, b"World", 8), stored(StorageMode::Cas(8), None)),
        (request(opcode::APPEND, b"", key, b"World", 0), stored(StorageMode::Append, None)),
        (request(opcode::APPENDQ, b"", key, b"World", 8), stored(StorageMode::Append, Some(8))),
        (request(opcode::PREPEND, b"", key, b"World", 0), stored(StorageMode::Prepend, None)),
        (request(opcode::PREPENDQ, b"", key, b"World", 8), stored(StorageMode::Prepend, Some(8))),
        (request(opcode::DELETE, b"", key, b"", 0), delete(None)),
        (request(opcode::DELETEQ, b"", key, b"", 8), delete(Some(8))),
        (request(opcode::INCREMENT, &number, key, b"", 0), changed(false, Some((9, 60)), None)),
        (request(opcode::INCREMENTQ, &strict, key, b"", 8), changed(false, None, Some(8))),
        (request(opcode::DECREMENT, &number, key, b"", 0), changed(true, Some((9, 60)), None)),
        (request(opcode::DECREMENTQ, &strict, key, b"", 0), changed(true, None, None)),
        (request(opcode::FLUSH, b"", b"", b"", 0), Command::Flush(0)),
        (request(opcode::FLUSHQ, &time, b"", b"", 0), Command::Flush(60)),
        (request(opcode::STAT, b"", b"", b"", 0), Command::Stat(b"")),
        (request(opcode::STAT, b"", b"settings", b"", 0), Command::Stat(b"settings")),
        (request(opcode::VERBOSITY, &time, b"", b"", 0), Command::Verbosity(60)),
        (request(opcode::VERSION, b"", b"", b"", 0), Command::Version),
        (request(opcode::NOOP, b"", b"", b"", 0), Command::Noop),
        (request(opcode::QUIT, b"", b"", b"", 0), Command::Quit),
        (request(opcode::QUITQ, b"", b"", b"", 0), Command::Quit),
        (request(opcode::SASL_LIST_MECHS, b"", b"", b"", 0), Command::SaslList),
        (plain, sasl(false)),
        (request(opcode::SASL_STEP, b"", b"PLAIN", b"\0user\0pass", 0), sasl(true)),
    ]
}

#[test]
fn each_command_is_read_up_to_its_value() {
    for (bytes, command) in requests() {
        let echo = Echo { opcode: bytes[1], opaque: OPAQUE };
        let len = bytes.len() - command.value_len();
        let whole = Ok(Arrived::Whole(Request { echo, command }, len));
        for behind in [&b""[..], b"\x80", b"\x81\0\0", b"get x\r\n"] {
            let input = [&bytes[..], behind].concat();
            assert_eq!(parse_request(&input), whole, "{bytes:?}");
        }
        // The value may still be missing.
        assert_eq!(parse_request(&bytes[..len]), whole, "{bytes:?}");
    }
}

#[test]
fn every_cut_of_a_request_tells_how_much_is_needed() {
    for (bytes, command) in requests() {
        let len = bytes.len() - command.value_len();
        for end in 0..len {
            let needs = if end < HEADER_LEN { HEADER_LEN } else { len };
            let piece = &bytes[..end];
            assert_eq!(parse_request(piece), Ok(Arrived::Needs(needs)), "{piece:?}");
        }
    }
}

#[test]
fn a_command_without_its_parts_has_wrong_arguments() {
    let key = b"Hello";
    let long = [b'k'; MAX_KEY_LEN + 1];
    let sets = [opcode::SET, opcode::ADD, opcode::REPLACE, opcode::SETQ].into_iter();
    let bare = [opcode::VERSION, opcode::NOOP, opcode::QUIT, opcode::SASL_LIST_MECHS];
    let wrong = sets
        .flat_map(|set| [request(set, b"", key, b"v", 0), request(set, &[0; 8], b"", b"v", 0)])
        .chain(bare.into_iter().flat_map(|bare| {
            [
                request(bare, b"", key, b"", 0),
                request(bare, b"", b"", b"v", 0),
                request(bare, &[0; 4], b"", b"", 0),
            ]
        }))
        .chain([
            request(opcode::GET, b"", b"", b"", 0),
            request(opcode::GET, b"", key, b"v", 0),
            request(opcode::GETKQ, &[0; 4], key, b"", 0),
            request(opcode::GET, b"", &long, b"", 0),
            request(0x40, b"", &long, b"", 0),
            request(opcode::GAT, b"", key, b"", 0),
            request(opcode::TOUCH, &[0; 4], key, b"v", 0),
            request(opcode::APPEND, &[0; 8], key, b"v", 0),
            request(opcode::DELETE, &[0; 4], key, b"", 0),
            request(opcode::INCREMENT, &[0; 8], key, b"", 0),
            request(opcode::INCREMENT, &[0; 20], key, b"v", 0),
            request(opcode::FLUSH, &[0; 8], b"", b"", 0),
            request(opcode::FLUSH, b"", key, b"", 0),
            request(opcode::STAT, b"", b"", b"v", 0),
            request(opcode::VERBOSITY, b"", b"", b"", 0),
            request(opcode::SASL_AUTH, b"", b"", b"v", 0),
        ]);
    for bytes in wrong {
        let echo = Echo { opcode: bytes[1], opaque: OPAQUE };
        let fault = Fault::Arguments { echo, body_len: bytes.len() - HEADER_LEN };
        // The header alone is enough: a server does not wait for the parts of a wrong request.
        assert_eq!(parse_request(&bytes), Err(fault), "{bytes:?}");
        assert_eq!(parse_request(&bytes[..HEADER_LEN]), Err(fault), "{bytes:?}");
        assert_eq!(fault.answer(), Some((echo, Status::InvalidArguments)));
        assert_eq!(fault.request_len(), Some(bytes.len()));
        assert!(fault.ends_connection());
    }
}

#[test]
fn an_unknown_command_takes_its_whole_body() {
    for opcode in (0..=u8::MAX).filter(|opcode| Verb::of(*opcode).is_none()) {
        let bytes = request(opcode, &[0; 4], b"Hello", b"World", 0);
        let echo = Echo { opcode, opaque: OPAQUE };
        let fault = Fault::Unknown { echo, body_len: 14 };
        assert_eq!(parse_request(&bytes), Err(fault));
        assert_eq!(fault.request_len(), Some(bytes.len()));
        assert!(!fault.ends_connection());
        let mut out = Vec::new();
        reply::encode_fault(&mut out, fault);
        assert_eq!((&out[6..8], &out[24..]), (&[0, 0x81][..], &b"Unknown command"[..]));
    }
}

#[test]
fn lengths_that_cannot_be_end_the_connection() {
    let get = request(opcode::GET, b"", b"Hello", b"", 0);
    let set = request(opcode::SET, &[0; 8], b"Hello", b"", 0);
    let echo = |request: &[u8]| Echo { opcode: request[1], opaque: OPAQUE };
    let (short, long) = (Fault::Lengths(echo(&get)), Fault::Body(echo(&set)));
    assert_eq!(parse_request(&announcing(get, 4)), Err(short));
    for body_len in [MAX_BODY_LEN + 1, u32::MAX] {
        assert_eq!(parse_request(&announcing(set.clone(), body_len)), Err(long));
    }
    let longest = announcing(set, MAX_BODY_LEN);
    let Ok(Arrived::Whole(request, _)) = parse_request(&longest) else { panic!("{longest:?}") };
    assert_eq!(request.command.value_len(), (1 << 30) - 13);
    for (fault, status) in [(short, Status::UnknownCommand), (long, Status::InvalidArguments)] {
        assert_eq!(fault.answer().map(|(_, status)| status), Some(status));
        assert!(fault.ends_connection() && fault.request_len().is_none());
    }
}

#[test]
fn bytes_of_another_protocol_end_the_connection_without_an_answer() {
    for input in [&b"get x\r\n"[..], b"\x81", b"\0"] {
        assert_eq!(parse_request(input), Err(Fault::Magic), "{input:?}");
    }
    let mut out = Vec::new();
    reply::encode_fault(&mut out, Fault::Magic);
    assert_eq!(out, b"");
    assert!(Fault::Magic.ends_connection());
}

#[test]
fn three_commands_may_come_before_a_login() {
    let early = |command: &Command<'_>| command.precedes_login();
    let n_early = requests().iter().filter(|(_, command)| early(command)).count();
    assert_eq!(n_early, 4, "VERSION, SASL_LIST_MECHS, SASL_AUTH and SASL_STEP");
}
