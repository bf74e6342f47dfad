//! A wire of any length: a process of its own between a client and its servers, by which every round trip takes longer.
//!
//! It is this program again, started under another role, so that its work is not on the client's account nor on the
//! servers', and so that a client in any language can go through it. Each chunk of bytes is stamped when it arrives and
//! passed on when it is due, so that any number of requests are under way at once and no throughput is lost.
//!
//! A rate bounds the way to the client: what is read is large, what is asked is small. Each connection has a wire of its own.
//!
//! The whole delay is held on the way to the server, and answers pass at once, or at the rate: that is one timer a round
//! trip instead of two, and half as much of what makes a timer late. What the relay costs by being there (two more hops,
//! four more times that somebody is woken) is measured when it starts and held less, and what is then really added is
//! measured again and told.

mod calibrate;
mod held;
mod link;
mod process;
mod serve;
mod system;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};

use larder_store::{Error, Result, Via};

use crate::managed::Group;
use process::Order;

pub use calibrate::Added;
pub use process::serve_if_asked;

/// Where a relay leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// The addresses of a host's name, tried in this order.
    Tcp(Vec<SocketAddr>),
    /// A socket of this machine.
    Unix(PathBuf),
}

/// A relay that this process has started. It ends when this is dropped.
#[derive(Debug)]
pub struct Relay {
    process: Group,
    orders: ChildStdin,
    addresses: Vec<SocketAddr>,
    added: Added,
}

impl Relay {
    /// Starts a relay to these servers, and measures what it adds.
    ///
    /// The program must have called [`serve_if_asked`]. A server need not answer yet: while it does not, a connection to
    /// its relay is closed at once.
    pub fn start(engine: &'static str, via: Via, servers: &[Destination]) -> Result<Self> {
        let failed = |source: io::Error| Error::Unavailable {
            engine,
            what: format!("the relay of {via} could not be started: {source}"),
            source: Some(source),
        };
        process::can_be_relay().map_err(failed)?;
        let echo = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let echo_address = Destination::Tcp(vec![echo.local_addr().map_err(failed)?]);
        let mut relay = Self::launch(servers.iter().chain([&echo_address])).map_err(failed)?;
        relay.calibrate(via, &echo).map_err(failed)?;
        Ok(relay)
    }

    /// Where clients reach the servers through it, in the order of the servers.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The time that it adds to a round trip, as measured when it was started.
    pub fn added(&self) -> Added {
        self.added
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    fn launch<'a>(servers: impl Iterator<Item = &'a Destination>) -> io::Result<Self> {
        // The file that this process runs, even if another lies at its path by now.
        let mut command = Command::new("/proc/self/exe");
        command
            .arg(process::ROLE)
            .args(servers.map(process::to_argument).collect::<Vec<OsString>>())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .current_dir("/");
        let mut process = Group::spawn(&mut command)?;
        let (Some(orders), Some(answers), _) = process.take_pipes() else {
            return Err(io::Error::other("it has no pipes"));
        };
        let mut line = String::new();
        BufReader::new(answers).read_line(&mut line)?;
        let (is_realtime, addresses) = process::read_answer(&line)?;
        let added = Added { is_realtime, ..Added::default() };
        Ok(Self { process, orders, addresses, added })
    }

    /// Finds out how much less than the delay is to be held, and what is then added. The last address leads to `echo`,
    /// and is nobody's afterwards. The rate is for what comes then.
    fn calibrate(&mut self, via: Via, echo: &TcpListener) -> io::Result<()> {
        let through = self.addresses.pop().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let orders = &mut self.orders;
        let mut order = Order::default();
        let mut hold = |delay, held| {
            order = Order { delay, held, rate: 0 };
            orders.write_all(process::to_order(order).as_bytes())
        };
        let is_realtime = self.added.is_realtime;
        let added = calibrate::calibrate(via.delay(), echo, through, &mut hold)?;
        self.added = Added { is_realtime, ..added };
        if let Some(rate) = via.rate() {
            self.orders.write_all(process::to_order(Order { rate, ..order }).as_bytes())?;
        }
        Ok(())
    }
}

impl fmt::Display for Destination {
    /// `host:port` for each address, or the path of a socket.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(addresses) => {
                let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                f.write_str(&addresses.join(","))
            }
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}
