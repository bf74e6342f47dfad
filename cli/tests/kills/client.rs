//! A connection to the server, and the reading of its answers.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use larder_testkit::PATIENCE;

use crate::ledger::{Fault, State};
use crate::values::{name, state_of};

#[derive(Debug)]
pub(crate) struct Client {
    to: TcpStream,
    from: BufReader<TcpStream>,
}

/// An entry in an answer, or its absence.
#[derive(Debug)]
pub(crate) enum Found {
    Absent,
    Entry {
        value: Vec<u8>,
        version: Option<u64>,
    },
    /// A line that is no such answer.
    Other(String),
}

impl Found {
    /// The state of a key that was found so.
    pub(crate) fn state_of(&self, key: usize) -> Result<State, Fault> {
        let wrong = |why: &str| Fault::wrong(format!("{}: {why}", name(key)));
        match self {
            Self::Absent => Ok(State::Absent),
            Self::Entry { value, .. } => state_of(key, value).map_err(|why| wrong(&why)),
            Self::Other(line) => Err(wrong(&format!("the answer is {line:?}"))),
        }
    }

    pub(crate) fn version(&self) -> Option<u64> {
        if let Self::Entry { version, .. } = self { *version } else { None }
    }
}

impl Client {
    pub(crate) fn connect(port: u16) -> io::Result<Self> {
        let to = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        to.set_nodelay(true)?;
        to.set_read_timeout(Some(PATIENCE))?;
        to.set_write_timeout(Some(PATIENCE))?;
        let from = BufReader::new(to.try_clone()?);
        Ok(Self { to, from })
    }

    pub(crate) fn send(&mut self, requests: &[u8]) -> io::Result<()> {
        self.to.write_all(requests)
    }

    /// The next line, without its end.
    pub(crate) fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        self.from.read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\r\n") {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.len() - 2);
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    /// The bytes of a value.
    fn value(&mut self, len: usize) -> io::Result<Vec<u8>> {
        let mut value = vec![0; len + 2];
        self.from.read_exact(&mut value)?;
        value.truncate(len);
        Ok(value)
    }

    /// The answer to `mg KEY v c`, or to `ma KEY v`.
    pub(crate) fn meta_entry(&mut self) -> io::Result<Found> {
        let line = self.line()?;
        let mut words = line.split(' ');
        match (words.next(), words.next().and_then(|len| len.parse().ok())) {
            (Some("VA"), Some(len)) => {
                let version = words.find_map(|word| word.strip_prefix('c')?.parse().ok());
                Ok(Found::Entry { value: self.value(len)?, version })
            }
            (Some("EN"), None) => Ok(Found::Absent),
            _ => Ok(Found::Other(line)),
        }
    }

    /// The answer to `get` or `gets` of any keys: each entry with its name. The error is a line that is no such answer.
    pub(crate) fn entries(&mut self) -> io::Result<Result<Vec<(String, Found)>, String>> {
        let mut entries = Vec::new();
        loop {
            let line = self.line()?;
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["END"] => return Ok(Ok(entries)),
                ["VALUE", name, _, len, ref version @ ..] if len.parse::<usize>().is_ok() => {
                    let value = self.value(len.parse().unwrap_or_default())?;
                    let version = version.first().and_then(|version| version.parse().ok());
                    entries.push((name.to_owned(), Found::Entry { value, version }));
                }
                _ => return Ok(Err(line)),
            }
        }
    }
}
