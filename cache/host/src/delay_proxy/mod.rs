//! A wire of any length: a separate process between a client and its servers that makes every round trip longer.
//!
//! It is this program, started in another role. So its work counts neither as the client's nor as the servers', and a
//! client in any language can use it. Each chunk of bytes is stamped on arrival and passed on when it is due. So any
//! number of requests are under way at once and no throughput is lost.
//!
//! A rate bounds the way to the client, because answers are large and requests small. Each connection has a wire of its
//! own.
//!
//! The whole delay is held on the way to the server; answers pass at once, or at the rate. That takes one timer for a
//! round trip instead of two, and halves the lateness of timers. The relay's own cost (two more hops, four more
//! wake-ups) is measured at its start and subtracted from the delay. The really added time is then measured again and
//! reported.

mod calibrate;
mod delayed;
mod link;
mod order;
mod process;
mod serve;
mod system;

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{ChildStdin, Command, Stdio};

use larder_store::{Error, Result, Via};

use crate::destination::Destination;
use crate::managed::Group;
use order::Order;

pub use calibrate::Added;
pub use process::serve_if_asked;

/// A relay that this process has started. Dropping it ends the relay.
#[derive(Debug)]
pub struct DelayProxy {
    process: Group,
    orders: ChildStdin,
    addresses: Vec<SocketAddr>,
    added: Added,
}

impl DelayProxy {
    /// Starts a relay to these servers, and measures the time that it adds.
    ///
    /// The program must have called [`serve_if_asked`]. A server need not answer yet: until it does, the relay closes
    /// connections to it at once.
    pub fn start(engine: &'static str, via: Via, servers: &[Destination]) -> Result<Self> {
        let failed = |source: io::Error| Error::Unavailable {
            engine,
            what: format!("the relay of {via} could not be started: {source}"),
            source: Some(source),
        };
        process::can_be_proxy().map_err(failed)?;
        let echo = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let echo_address = Destination::Tcp(vec![echo.local_addr().map_err(failed)?]);
        let mut delay_proxy =
            Self::launch(servers.iter().chain([&echo_address])).map_err(failed)?;
        delay_proxy.calibrate(via, &echo).map_err(failed)?;
        Ok(delay_proxy)
    }

    /// The relay's addresses for clients, in the order of the servers.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The time that it added to a round trip when it was started.
    pub fn added(&self) -> Added {
        self.added
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    fn launch<'a>(servers: impl Iterator<Item = &'a Destination>) -> io::Result<Self> {
        // The file that this process runs, even if another file is at its path by now.
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

    /// Measures how much of the delay to hold, and the time that the relay then adds. The last address leads to `echo`,
    /// and is not used afterwards. The rate applies only to later traffic.
    fn calibrate(&mut self, via: Via, echo: &TcpListener) -> io::Result<()> {
        let through = self.addresses.pop().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let orders = &mut self.orders;
        let mut order = Order::default();
        let mut hold = |delay, held| {
            order = Order { delay, held, rate: 0 };
            orders.write_all(order::to_order(order).as_bytes())
        };
        let is_realtime = self.added.is_realtime;
        let added = calibrate::calibrate(via.delay(), echo, through, &mut hold)?;
        self.added = Added { is_realtime, ..added };
        if let Some(rate) = via.rate() {
            self.orders.write_all(order::to_order(Order { rate, ..order }).as_bytes())?;
        }
        Ok(())
    }
}
