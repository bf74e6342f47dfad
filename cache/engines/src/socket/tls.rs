//! An encrypted connection on a socket.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::system;

/// The encrypted bytes that are read at once. The library would ask the system for a quarter of a record at a time.
const CIPHER_LEN: usize = 16 * 1024;

/// The most bytes that are decrypted at once onto others.
pub(super) const STEP: usize = 64 * 1024;

/// The terms of encrypted connections to a server.
#[derive(Debug, Clone)]
pub(crate) struct Encryption {
    /// The certificates that are trusted.
    pub(crate) config: Arc<ClientConfig>,
    /// The name for which the server must have a certificate.
    pub(crate) name: ServerName<'static>,
}

/// The state of an encrypted connection.
#[derive(Debug)]
pub(super) struct Tls {
    connection: ClientConnection,
    /// Received bytes that are not decrypted yet are `cipher[start..end]`.
    cipher: Box<[u8]>,
    start: usize,
    end: usize,
    /// Whether the system may have more.
    may_have_more: bool,
    /// The bytes that were taken last, as long as some of them are not sent.
    held_bytes: usize,
}

impl Tls {
    /// Greets the server, and waits for its certificate.
    pub(super) fn greet(
        socket: BorrowedFd<'_>,
        encryption: &Encryption,
        gives_up: impl FnOnce(BorrowedFd<'_>) -> io::Result<()>,
    ) -> io::Result<Self> {
        let (config, name) = (Arc::clone(&encryption.config), encryption.name.clone());
        let connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
        let mut tls = Self {
            connection,
            cipher: vec![0; CIPHER_LEN].into(),
            start: 0,
            end: 0,
            may_have_more: true,
            held_bytes: 0,
        };
        tls.send_held(socket, true)?;
        gives_up(socket)?;
        while tls.connection.is_handshaking() {
            if tls.connection.wants_write() {
                tls.send_held(socket, true)?;
            } else if !tls.decrypt(socket, true)? {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        tls.send_held(socket, true)?;
        Ok(tls)
    }

    /// Sends all of several slices, one behind the other.
    pub(super) fn send_all(&mut self, socket: BorrowedFd<'_>, slices: &[&[u8]]) -> io::Result<()> {
        for slice in slices {
            let mut rest = *slice;
            while !rest.is_empty() {
                let taken = self.connection.writer().write(rest)?;
                rest = &rest[taken..];
                if !rest.is_empty() {
                    self.send_held(socket, true)?;
                }
            }
        }
        self.send_held(socket, true)
    }

    /// Takes some bytes of several slices, and sends what the socket takes of them without waiting.
    pub(super) fn send_now(
        &mut self,
        socket: BorrowedFd<'_>,
        slices: &[&[u8]],
    ) -> io::Result<usize> {
        self.send_held(socket, false)?;
        let mut taken = 0;
        for slice in slices {
            let of_slice = self.connection.writer().write(slice)?;
            taken += of_slice;
            if of_slice < slice.len() {
                break;
            }
        }
        self.held_bytes = taken;
        match self.send_held(socket, false) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    /// Sends the encrypted bytes that are not sent.
    fn send_held(&mut self, socket: BorrowedFd<'_>, waits: bool) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut Sending { socket, waits })?;
        }
        self.held_bytes = 0;
        Ok(())
    }

    #[inline]
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Reads as many bytes as have arrived and fit.
    pub(super) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        waits: bool,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        let mut received = 0;
        loop {
            match self.connection.reader().read(&mut buffer[received..]) {
                Ok(0) if received == 0 => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(0) => return Ok(received),
                Ok(more) => received += more,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if received == 0 => return Err(error),
                // The next call meets the error again.
                Err(_) => return Ok(received),
            }
            let is_over = received > 0 && self.start == self.end && !self.may_have_more;
            if received == buffer.len() || is_over {
                return Ok(received);
            }
            match self.decrypt(socket, waits && received == 0) {
                Ok(_) => {}
                Err(_) if received > 0 => return Ok(received),
                Err(error) => return Err(error),
            }
        }
    }

    /// As [`Self::receive`], but at most `len` bytes, which go behind those of `buffer`.
    pub(super) fn receive_onto(
        &mut self,
        socket: BorrowedFd<'_>,
        waits: bool,
        buffer: &mut Vec<u8>,
        len: usize,
    ) -> io::Result<usize> {
        let start = buffer.len();
        buffer.resize(start + len, 0);
        let received = self.receive(socket, waits, &mut buffer[start..]);
        buffer.truncate(start + *received.as_ref().unwrap_or(&0));
        received
    }

    /// Decrypts some of what has arrived; `false` at the end of the connection.
    fn decrypt(&mut self, socket: BorrowedFd<'_>, waits: bool) -> io::Result<bool> {
        if self.start == self.end {
            let received = system::receive(socket, waits, &mut self.cipher);
            (self.start, self.end) = (0, *received.as_ref().unwrap_or(&0));
            self.may_have_more = self.end == self.cipher.len();
            match received {
                // The library tells an end that the server has announced from one that it has not.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
                received => drop(received?),
            }
        }
        let mut rest = &self.cipher[self.start..self.end];
        let read = self.connection.read_tls(&mut rest)?;
        self.start = self.end - rest.len();
        let processed = self.connection.process_new_packets();
        processed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        Ok(read > 0)
    }
}

/// The socket as the library writes to it.
struct Sending<'s> {
    socket: BorrowedFd<'s>,
    waits: bool,
}

impl io::Write for Sending<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        system::send(self.socket, self.waits, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
