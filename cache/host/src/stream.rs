//! The bytes of a connection: as they are on the socket, or encrypted.

use std::io::{self, BufRead as _, ErrorKind, Write as _};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use socket2::Socket;

/// Encrypted bytes that a session keeps while its socket takes none.
const UNSENT: usize = 16 << 10;

/// A connection's bytes.
#[derive(Debug)]
pub enum Stream {
    /// As they are.
    Plain(Socket),
    /// Encrypted.
    Tls(Box<TlsStream>),
}

/// A socket, and the session of TLS over it.
#[derive(Debug)]
pub struct TlsStream {
    socket: Socket,
    session: Connection,
}

impl Stream {
    /// The connection of a client. Encrypts where there is a configuration.
    ///
    /// # Errors
    ///
    /// A configuration that makes no session.
    pub fn new(socket: Socket, tls: Option<Arc<ServerConfig>>) -> io::Result<Self> {
        let Some(config) = tls else { return Ok(Self::Plain(socket)) };
        let session = ServerConnection::new(config).map_err(io::Error::other)?;
        Ok(Self::encrypted(socket, session.into()))
    }

    /// A connection to a server, which needs a certificate for this name where there is a configuration.
    ///
    /// # Errors
    ///
    /// A configuration that makes no session.
    pub fn to_server(
        socket: Socket,
        tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    ) -> io::Result<Self> {
        let Some((config, name)) = tls else { return Ok(Self::Plain(socket)) };
        let session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        Ok(Self::encrypted(socket, session.into()))
    }

    fn encrypted(socket: Socket, mut session: Connection) -> Self {
        session.set_buffer_limit(Some(UNSENT));
        Self::Tls(Box::new(TlsStream { socket, session }))
    }

    /// Reads into `buffer`; 0 is the end.
    #[inline]
    pub fn recv(&mut self, buffer: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.recv(buffer),
            Self::Tls(tls) => tls.recv(buffer),
        }
    }

    /// Sends a part of `bytes`. What a session of TLS has taken is sent.
    #[inline]
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.send(bytes),
            Self::Tls(tls) => tls.send(bytes),
        }
    }

    /// Whether bytes have been read from the socket and not been received yet.
    #[inline]
    pub fn has_received(&mut self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.session.reader().fill_buf().is_ok_and(|bytes| !bytes.is_empty()),
        }
    }

    /// Whether the encryption is not agreed on yet.
    pub fn is_shaking_hands(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.session.is_handshaking(),
        }
    }

    /// Whether bytes that it has taken wait for room in the socket.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.session.wants_write(),
        }
    }

    /// Says that nothing more will be sent.
    pub fn shut_down(&mut self) {
        if let Self::Tls(tls) = self {
            tls.session.send_close_notify();
            let _ = tls.flush();
        }
        let _ = self.socket().shutdown(Shutdown::Write);
    }

    /// Throws away what has arrived, as far as `buffer` and its length go.
    pub fn discard(&self, buffer: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        self.socket().recv(buffer)
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => &tls.socket,
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

impl TlsStream {
    fn recv(&mut self, buffer: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        loop {
            match self.session.reader().fill_buf() {
                Ok(bytes) => {
                    let n = bytes.len().min(buffer.len());
                    for (place, byte) in buffer.iter_mut().zip(&bytes[..n]) {
                        place.write(*byte);
                    }
                    self.session.reader().consume(n);
                    return Ok(n);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if self.session.read_tls(&mut &self.socket)? == 0 {
                return Ok(0);
            }
            let processed = self.session.process_new_packets();
            // An alert that tells of a failure is sent too.
            let flushed = self.flush();
            processed.map_err(io::Error::other)?;
            flushed?;
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut n = 0;
        loop {
            let taken = self.session.writer().write(&bytes[n..])?;
            n += taken;
            self.flush()?;
            if n == bytes.len() || taken == 0 {
                return Ok(n);
            }
        }
    }

    /// Sends what the session has, as far as the socket takes it.
    fn flush(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut &self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
