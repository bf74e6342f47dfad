//! The binary protocol, as a client speaks it.

use std::net::SocketAddr;

use larder_protocol::binary::opcode::{
    ADD, ADDQ, APPEND, APPENDQ, DECREMENT, DECREMENTQ, DELETE, DELETEQ, FLUSH, FLUSHQ, GAT, GATK,
    GATKQ, GATQ, GET, GETK, GETKQ, GETQ, INCREMENT, INCREMENTQ, NOOP, PREPEND, PREPENDQ, QUIT,
    QUITQ, REPLACE, REPLACEQ, SET, SETQ, STAT, TOUCH,
};

use super::Client;

/// A request whose mark is 7.
pub fn request(opcode: u8, version: u64, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    let key_len = u16::try_from(key.len()).unwrap();
    let body_len = u32::try_from(extras.len() + key.len() + value.len()).unwrap();
    let mut bytes = vec![0x80, opcode];
    bytes.extend_from_slice(&key_len.to_be_bytes());
    bytes.extend_from_slice(&[u8::try_from(extras.len()).unwrap(), 0, 0, 0]);
    bytes.extend_from_slice(&body_len.to_be_bytes());
    bytes.extend_from_slice(&7_u32.to_be_bytes());
    bytes.extend_from_slice(&version.to_be_bytes());
    [&bytes, extras, key, value].concat()
}

pub fn set(opcode: u8, version: u64, flags: u32, key: &[u8], value: &[u8]) -> Vec<u8> {
    let extras = [flags.to_be_bytes(), [0; 4]].concat();
    request(opcode, version, &extras, key, value)
}

pub fn get(opcode: u8, key: &[u8]) -> Vec<u8> {
    request(opcode, 0, b"", key, b"")
}

pub fn count(opcode: u8, key: &[u8], delta: u64, initial: u64, exptime: u32) -> Vec<u8> {
    let extras = [&delta.to_be_bytes()[..], &initial.to_be_bytes(), &exptime.to_be_bytes()];
    request(opcode, 0, &extras.concat(), key, b"")
}

/// The same request on condition of a version.
fn of_version(mut request: Vec<u8>) -> Vec<u8> {
    request[16..24].copy_from_slice(&999_999_999_999_u64.to_be_bytes());
    request
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub opcode: u8,
    pub key_len: u16,
    pub extras_len: u8,
    pub status: u16,
    pub opaque: u32,
    pub version: u64,
    pub body: Vec<u8>,
}

/// The next answer; `None` at the end of the connection.
pub fn answer(client: &mut Client) -> Option<Answer> {
    use std::io::Read as _;
    let mut header = [0; 24];
    client.0.read_exact(&mut header).ok()?;
    let number = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().unwrap());
    let short = |at: usize| u16::from_be_bytes(header[at..at + 2].try_into().unwrap());
    assert_eq!((header[0], header[5]), (0x81, 0));
    let mut body = vec![0; number(8).try_into().unwrap()];
    client.0.read_exact(&mut body).unwrap();
    Some(Answer {
        opcode: header[1],
        key_len: short(2),
        extras_len: header[4],
        status: short(6),
        opaque: number(12),
        version: u64::from(number(16)) << 32 | u64::from(number(20)),
        body,
    })
}

/// What was asked, by name, with its answers.
pub type Conversation = Vec<(String, Vec<Answer>)>;

/// What a client says, and the answers up to the next `NOOP`. Its entries have these flags.
pub fn conversation(address: SocketAddr, flags: u32) -> Conversation {
    let long_key = [b'k'; 250];
    let blanks = b"a key \n\r with blanks".as_slice();
    let mut said: Vec<(&str, Vec<u8>)> = vec![
        ("a miss", get(GET, b"key")),
        ("quiet misses", [GETQ, GETKQ].map(|opcode| get(opcode, b"key")).concat()),
        ("a miss that tells its key", get(GETK, b"key")),
        ("set", set(SET, 0, flags, b"key", b"value")),
        ("hits", [GET, GETQ, GETK, GETKQ].map(|opcode| get(opcode, b"key")).concat()),
        ("an empty value", set(SET, 0, flags, b"empty", b"")),
        ("of an empty value", get(GETK, b"empty")),
        ("a key with blanks", set(SET, 0, flags, blanks, b"value")),
        ("of a key with blanks", get(GETK, blanks)),
        ("a long key", set(SET, 0, flags, &long_key, b"value")),
        ("of a long key", get(GETK, &long_key)),
        ("add what is there", set(ADD, 0, flags, b"key", b"other")),
        ("add what is not", set(ADD, 0, flags, b"added", b"other")),
        ("replace what is there", set(REPLACE, 0, flags, b"key", b"other")),
        ("replace what is not", set(REPLACE, 0, flags, b"absent", b"other")),
        ("append", request(APPEND, 0, b"", b"key", b"-end")),
        ("prepend", request(PREPEND, 0, b"", b"key", b"begin-")),
        ("what was put together", get(GET, b"key")),
        ("append to nothing", request(APPEND, 0, b"", b"absent", b"-end")),
        ("prepend to nothing", request(PREPENDQ, 0, b"", b"absent", b"-end")),
        ("another version", set(SET, u64::MAX, flags, b"key", b"value")),
        ("a version of nothing", set(SET, 5, flags, b"absent", b"value")),
        ("add by version", set(ADD, 5, flags, b"absent", b"value")),
        ("delete another version", request(DELETE, u64::MAX, b"", b"key", b"")),
        ("delete", request(DELETE, 0, b"", b"key", b"")),
        ("delete nothing", request(DELETE, 0, b"", b"key", b"")),
        ("count nothing", count(INCREMENT, b"number", 1, 5, u32::MAX)),
        ("count from", count(INCREMENT, b"number", 1, 5, 0)),
        ("count up", count(INCREMENT, b"number", 10, 5, 0)),
        // memcached pads a number that has become shorter with blanks.
        ("the number", get(GET, b"number")),
        ("count down", count(DECREMENT, b"number", 100, 5, 0)),
        ("count beyond", count(INCREMENT, b"number", u64::MAX, 5, 0)),
        ("count around", count(INCREMENT, b"number", 2, 5, 0)),
        ("count letters", count(DECREMENT, b"added", 1, 0, 0)),
        ("append to another version", request(APPEND, 999_999_999_999, b"", b"added", b"-end")),
        ("prepend to another version", request(PREPENDQ, 999_999_999_999, b"", b"added", b"-end")),
        ("append to what is not there", request(APPEND, 5, b"", b"absent", b"-end")),
        ("count another version", of_version(count(DECREMENT, b"number", 1, 0, 0))),
        ("count quietly another version", of_version(count(INCREMENTQ, b"number", 1, 0, 0))),
        ("count what is not there", of_version(count(INCREMENT, b"absent", 1, 0, u32::MAX))),
        ("begin to count what is not there", of_version(count(INCREMENT, b"begun", 1, 3, 0))),
        ("touch", request(TOUCH, 0, &100_u32.to_be_bytes(), b"added", b"")),
        ("touch nothing", request(TOUCH, 0, &100_u32.to_be_bytes(), b"absent", b"")),
        ("an unknown group", request(STAT, 0, b"", b"nonsense", b"")),
        ("an unknown command", request(0x70, 0, b"", b"", b"")),
        ("no extras", request(SET, 0, b"", b"", b"")),
    ];
    for opcode in [GAT, GATQ, GATK, GATKQ] {
        for key in [&b"added"[..], b"absent"] {
            said.push(("gat", request(opcode, 0, &100_u32.to_be_bytes(), key, b"")));
        }
    }
    for opcode in [SETQ, ADDQ, ADDQ, REPLACEQ] {
        said.push(("quiet", set(opcode, 0, flags, b"quiet", b"5")));
    }
    for opcode in [INCREMENTQ, DECREMENTQ] {
        said.push(("quiet numbers", count(opcode, b"quiet", 1, 0, 0)));
    }
    for opcode in [APPENDQ, PREPENDQ] {
        said.push(("quiet ends", request(opcode, 0, b"", b"quiet", b"1")));
    }
    said.push(("of the quiet", get(GET, b"quiet")));
    for _ in 0..2 {
        said.push(("quiet delete", request(DELETEQ, 0, b"", b"quiet", b"")));
    }
    said.push(("flush", request(FLUSH, 0, b"", b"", b"")));
    said.push(("quiet flush", request(FLUSHQ, 0, &0_u32.to_be_bytes(), b"", b"")));
    said.push(("after the flush", get(GET, b"added")));
    for opcode in [QUITQ, QUIT] {
        said.push(("the end", request(opcode, 0, b"", b"", b"")));
    }
    let mut client = Client::connect(address);
    let mut heard = Vec::new();
    for (name, bytes) in said {
        client.send(&bytes);
        // A connection that the request has ended is replaced.
        let _ = std::io::Write::write_all(client.0.get_mut(), &request(NOOP, 0, b"", b"", b""));
        let mut answers = Vec::new();
        loop {
            match answer(&mut client) {
                Some(answer) if answer.opcode == NOOP => break,
                // Servers count versions as they like.
                Some(answer) => answers.push(Answer { version: answer.version.min(1), ..answer }),
                None => {
                    client = Client::connect(address);
                    break;
                }
            }
        }
        heard.push((name.to_owned(), answers));
    }
    heard
}
