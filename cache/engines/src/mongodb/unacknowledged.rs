//! Writes without an acknowledgement, as MongoDB's drivers made all writes until 2012.
//!
//! Today's driver refuses such writes. A session with `w=0` sends its plain sets itself, over a connection of its own,
//! in messages that are marked as "more to come". The server carries them out in their order, answers no such message,
//! and reports no error. Before its next operation, the session asks the server on the same connection whether it is
//! there, and waits for the answer. By then all earlier writes are done, so a session finds every entry that it has
//! stored. It asks after [`MOST_OWED`] messages too. A client is faster than its server here, and the next operation would
//! otherwise wait for all that the buffers of sockets hold.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use larder_host::destination::Destination;
use larder_store::{Error, Result};
use mongodb::bson::{RawDocument, RawDocumentBuf, rawdoc};

use super::batch::upserts;
use super::{SCHEME, errors};

/// The operation of all messages.
const OP_MSG: i32 = 2013;
/// The flag of a message that wants no answer.
const MORE_TO_COME: u32 = 2;
/// Length, number, number of the message that it answers, operation.
const HEADER_LEN: usize = 16;
/// The part behind the header: flags, and that a document follows.
const FLAGS_LEN: usize = 5;
/// The most messages without an answer.
const MOST_OWED: u32 = 1000;

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// The writes that a session has sent and that have no answer.
pub(super) struct Outbox {
    destination: Destination,
    peer: String,
    timeout: Duration,
    stream: Option<Box<dyn Stream>>,
    /// The number of messages since the last answer.
    n_owed: u32,
    n_sent: i32,
    message: Vec<u8>,
}

impl Outbox {
    /// An outbox to a server, whose connection is opened when something is sent.
    pub(super) fn new(destination: Destination, peer: &str, timeout: Duration) -> Self {
        let (peer, message) = (peer.to_owned(), Vec::new());
        Self { destination, peer, timeout, stream: None, n_owed: 0, n_sent: 0, message }
    }

    /// Sends the documents of entries, which replace what the filters beside them find: different keys. True when a
    /// connection was opened.
    pub(super) fn set<'u>(
        &mut self,
        database: &str,
        collection: &str,
        entries: impl Iterator<Item = (&'u RawDocument, &'u RawDocument)>,
    ) -> Result<bool> {
        let command = unacknowledged(database, upserts(collection, entries));
        let is_new = self.stream.is_none();
        self.exchange(|outbox| outbox.send(&command, MORE_TO_COME))?;
        self.n_owed += 1;
        Ok(is_new)
    }

    /// Whether the server must answer before more is sent.
    pub(super) fn is_full(&self) -> bool {
        self.n_owed >= MOST_OWED
    }

    /// Waits until the server has carried out all that was sent; `false` where there was nothing to wait for.
    pub(super) fn settle(&mut self) -> Result<bool> {
        if self.n_owed == 0 {
            return Ok(false);
        }
        self.n_owed = 0;
        self.exchange(|outbox| {
            outbox.send(&rawdoc! { "ping": 1, "$db": "admin" }, 0)?;
            outbox.receive()
        })?;
        Ok(true)
    }

    /// Does something on the connection. Opens a missing connection, and does not use it again after a failure.
    fn exchange(&mut self, act: impl FnOnce(&mut Self) -> io::Result<()>) -> Result<()> {
        let opened = match self.stream {
            Some(_) => Ok(()),
            None => {
                connect(&self.destination, self.timeout).map(|stream| self.stream = Some(stream))
            }
        };
        opened.and_then(|()| act(self)).map_err(|error| {
            self.stream = None;
            self.n_owed = 0;
            errors::lost(&self.peer, self.timeout, &error)
        })
    }

    fn send(&mut self, command: &RawDocument, flags: u32) -> io::Result<()> {
        self.n_sent = self.n_sent.wrapping_add(1);
        encode(&mut self.message, self.n_sent, flags, command)?;
        self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?.write_all(&self.message)
    }

    /// Reads one answer, in which nothing can stand that matters.
    fn receive(&mut self) -> io::Result<()> {
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let mut header = [0; HEADER_LEN];
        stream.read_exact(&mut header)?;
        let [a, b, c, d, ..] = header;
        let len = u64::from(u32::from_le_bytes([a, b, c, d])).saturating_sub(HEADER_LEN as u64);
        let read = io::copy(&mut stream.take(len), &mut io::sink())?;
        if read == len { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// A command that wants no answer.
fn unacknowledged(database: &str, mut command: RawDocumentBuf) -> RawDocumentBuf {
    command.append("writeConcern", rawdoc! { "w": 0 });
    command.append("$db", database);
    command
}

/// A message: <https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/#op_msg>.
fn encode(message: &mut Vec<u8>, id: i32, flags: u32, command: &RawDocument) -> io::Result<()> {
    let len = HEADER_LEN + FLAGS_LEN + command.as_bytes().len();
    let len = i32::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
    message.clear();
    for number in [len, id, 0, OP_MSG] {
        message.extend_from_slice(&number.to_le_bytes());
    }
    message.extend_from_slice(&flags.to_le_bytes());
    message.push(0);
    message.extend_from_slice(command.as_bytes());
    Ok(())
}

/// Connects to the first address that takes a connection.
fn connect(destination: &Destination, timeout: Duration) -> io::Result<Box<dyn Stream>> {
    let deadline = Instant::now() + timeout;
    let addresses = match destination {
        Destination::Tcp(addresses) => addresses,
        Destination::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            return Ok(Box::new(stream));
        }
    };
    let mut failure = io::ErrorKind::AddrNotAvailable.into();
    for address in addresses {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(address, left) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))?;
                return Ok(Box::new(stream));
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// The place to which unacknowledged sets go: the one server.
pub(super) fn destination(destinations: Vec<Destination>) -> Result<Destination> {
    destinations.into_iter().next().ok_or_else(|| Error::Unavailable {
        engine: SCHEME,
        what: "no server is named".into(),
        source: None,
    })
}

#[cfg(test)]
mod tests {
    use mongodb::bson::RawDocument;

    use super::super::document::{self, EntryMetadata};
    use super::*;

    #[test]
    fn a_set_is_one_message_that_wants_no_answer() {
        let terms = EntryMetadata { version: 7, flags: 0, deadline_ms: None, tag: None };
        let entry = document::of(b"key", b"value", &terms);
        let mut message = Vec::new();
        let filter = rawdoc! { "_id": "key" };
        let updates = [(&*filter, &*entry)].into_iter();
        let command = unacknowledged("base", upserts("entries", updates));
        encode(&mut message, 3, MORE_TO_COME, &command).unwrap();
        let numbers: Vec<i32> = message[..20]
            .chunks(4)
            .map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap()))
            .collect();
        assert_eq!(numbers, [i32::try_from(message.len()).unwrap(), 3, 0, 2013, 2]);
        assert_eq!(message[20], 0);
        let command = RawDocument::from_bytes(&message[21..]).unwrap();
        assert_eq!(command.get_str("update").unwrap(), "entries");
        assert_eq!(command.get_str("$db").unwrap(), "base");
        let concern = command.get_document("writeConcern").unwrap();
        assert_eq!(concern.get_i32("w").unwrap(), 0);
        let updates = command.get_array("updates").unwrap();
        let update = updates.get_document(0).unwrap();
        assert_eq!(update.get_document("u").unwrap(), &*entry);
        assert_eq!(update.get_document("q").unwrap().get_str("_id").unwrap(), "key");
        assert!(update.get_bool("upsert").unwrap());
    }
}
