//! The relay's loop: one thread, any number of connections, one timer.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use super::link::{Link, Side};
use super::order::{self, Order};
use super::system::Timer;
use crate::destination::Destination;
use crate::epoll::{Epoll, Events, READABLE};
use crate::limits;

/// The tokens of events: the timer, an order, a new connection at a door, and above these two numbers for each link.
const TIMER: u64 = 0;
const ORDERS: u64 = 1;
const FIRST_DOOR: u64 = 2;
const FIRST_LINK: u64 = 1 << 32;

/// The time without new connections after an accept failed: most likely no descriptors were left, and no event
/// tells when one is free.
const PAUSE: Duration = Duration::from_millis(50);

/// The most bytes read at once.
const BUFFER_LEN: usize = 64 << 10;

/// A listening relay.
#[derive(Debug)]
pub(super) struct Server {
    epoll: Epoll,
    timer: Timer,
    /// The time at which the timer ends, if it is set.
    timer_end: Option<Instant>,
    orders: Orders,
    doors: Vec<Door>,
    /// The end of a pause without new connections, during such a pause.
    pause_end: Option<Instant>,
    /// A descriptor reserved for the server of the next connection, so that no client is accepted without one.
    spare: Option<OwnedFd>,
    /// The links by the first of their two numbers.
    links: HashMap<u64, (Link, usize)>,
    next_link: u64,
    /// The due times of held bytes with their link and side, the earliest first.
    due: BinaryHeap<Reverse<(Instant, u64, Side)>>,
    /// The latest order.
    order: Order,
    buffer: Box<[u8]>,
}

/// A listener for clients, and their destination.
#[derive(Debug)]
struct Door {
    listener: TcpListener,
    destination: Destination,
}

impl Server {
    /// Listens for each destination on a port of its own, and returns the ports.
    pub(super) fn new(destinations: Vec<Destination>) -> io::Result<(Self, Vec<u16>)> {
        // A connection takes two files. Where the limit stays, fewer are relayed.
        let _ = limits::raise_open_files();
        let doors = destinations.into_iter().map(|destination| {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            listener.set_nonblocking(true)?;
            Ok(Door { listener, destination })
        });
        let doors = doors.collect::<io::Result<Vec<_>>>()?;
        let ports = doors.iter().map(|door| Ok(door.listener.local_addr()?.port()));
        let ports = ports.collect::<io::Result<_>>()?;
        let (epoll, timer, orders) = (Epoll::new()?, Timer::new()?, Orders::new()?);
        epoll.watch(timer.fd(), TIMER, 0, READABLE)?;
        epoll.watch(orders.input.as_fd(), ORDERS, 0, READABLE)?;
        let mut server = Self {
            epoll,
            timer,
            timer_end: None,
            orders,
            doors,
            pause_end: Some(Instant::now()),
            spare: None,
            links: HashMap::new(),
            next_link: FIRST_LINK,
            due: BinaryHeap::new(),
            order: Order::default(),
            buffer: vec![0; BUFFER_LEN].into(),
        };
        server.accept_again()?;
        Ok((server, ports))
    }

    /// Serves until the orders end.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut events = Events::default();
        loop {
            self.epoll.wait(&mut events, None)?;
            // First of all, because these bytes must not be late.
            self.pass_on_due()?;
            for event in events.iter() {
                match event.token {
                    TIMER => {}
                    ORDERS => match self.orders.read()? {
                        None => return Ok(()),
                        Some(orders) => {
                            self.order = orders.last().copied().unwrap_or(self.order);
                        }
                    },
                    door if door < FIRST_LINK => self.accept(door)?,
                    side => self.turn(side)?,
                }
            }
            self.pass_on_due()?;
            if self.pause_end.is_some_and(|end| end <= Instant::now()) {
                self.accept_again()?;
            }
            self.set_timer()?;
        }
    }

    /// Accepts a client that waits at a door.
    fn accept(&mut self, token: u64) -> io::Result<()> {
        let place = usize::try_from(token - FIRST_DOOR).unwrap_or(usize::MAX);
        let Some(door) = self.doors.get(place).filter(|_| self.pause_end.is_none()) else {
            return Ok(());
        };
        match door.listener.accept() {
            Ok((client, _)) => {
                let opens = Instant::now() + self.order.delay + self.order.held;
                self.spare = None;
                let link = Link::new(client.into(), &door.destination, opens);
                self.keep_spare()?;
                // Where the server cannot be reached, the client sees its connection end.
                let Ok(link) = link else { return Ok(()) };
                let id = self.next_link;
                self.next_link += 2;
                self.links.insert(id, (link, place));
                // This stamps bytes that the client has sent already. A near server is already connected.
                self.turn(id)?;
                self.turn(id + 1)
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {
                    Ok(())
                }
                _ => self.pause(),
            },
        }
    }

    /// Reserves a descriptor for the next connection; without one, no connection is accepted.
    fn keep_spare(&mut self) -> io::Result<()> {
        self.spare = self.timer.fd().try_clone_to_owned().ok();
        if self.spare.is_some() { Ok(()) } else { self.pause() }
    }

    /// Stops accepting new connections for a while. They wait at their doors.
    fn pause(&mut self) -> io::Result<()> {
        if self.pause_end.replace(Instant::now() + PAUSE).is_none() {
            self.watch_doors(READABLE, 0)?;
        }
        Ok(())
    }

    /// Accepts new connections again, if a descriptor is free.
    fn accept_again(&mut self) -> io::Result<()> {
        self.keep_spare()?;
        if self.spare.is_some() && self.pause_end.take().is_some() {
            self.watch_doors(0, READABLE)?;
        }
        Ok(())
    }

    fn watch_doors(&self, from: u32, to: u32) -> io::Result<()> {
        for (door, token) in self.doors.iter().zip(FIRST_DOOR..) {
            self.epoll.watch(door.listener.as_fd(), token, from, to)?;
        }
        Ok(())
    }

    /// Lets a link handle an event at one of its sides.
    fn turn(&mut self, token: u64) -> io::Result<()> {
        let (id, side) = (token & !1, if token & 1 == 0 { Side::Client } else { Side::Server });
        let Some((link, door)) = self.links.get_mut(&id) else { return Ok(()) };
        let destination = &self.doors[*door].destination;
        match link.turn(side, self.order, destination, &mut self.buffer) {
            Ok(due) => {
                self.due.extend(due.map(|due| Reverse((due, id, side))));
                self.settle(id)
            }
            // There is no server: the client sees its connection end.
            Err(_) => self.end(id),
        }
    }

    /// Passes on everything that is due.
    fn pass_on_due(&mut self) -> io::Result<()> {
        let now = Instant::now();
        while let Some(Reverse((due, id, side))) = self.due.peek().copied()
            && due <= now
        {
            self.due.pop();
            if let Some((link, _)) = self.links.get_mut(&id) {
                link.pass_on(side, now);
                self.settle(id)?;
            }
        }
        Ok(())
    }

    /// Waits for the next events of a link, or removes the link when it is over.
    fn settle(&mut self, id: u64) -> io::Result<()> {
        let Some((link, _)) = self.links.get_mut(&id) else { return Ok(()) };
        if link.is_over() {
            return self.end(id);
        }
        let token = |side| if side == Side::Client { id } else { id + 1 };
        link.watch(&self.epoll, token)
    }

    fn end(&mut self, id: u64) -> io::Result<()> {
        self.links.remove(&id);
        if self.pause_end.is_some() { self.accept_again() } else { Ok(()) }
    }

    fn set_timer(&mut self) -> io::Result<()> {
        let due = self.due.peek().map(|Reverse((due, ..))| *due);
        let next = due.into_iter().chain(self.pause_end).min();
        // An expired timer is set again, too; otherwise epoll would report it for ever.
        if next != self.timer_end {
            self.timer.set(next.map(|due| due.saturating_duration_since(Instant::now())))?;
            self.timer_end = next;
        }
        Ok(())
    }
}

/// The orders from the process that started this relay.
#[derive(Debug)]
struct Orders {
    input: File,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
}

impl Orders {
    fn new() -> io::Result<Self> {
        // Not `io::stdin`: a line in its buffer would wait without an event.
        let input = io::stdin().as_fd().try_clone_to_owned()?.into();
        Ok(Self { input, line: Vec::new() })
    }

    /// The orders received so far; `None` at their end.
    fn read(&mut self) -> io::Result<Option<Vec<Order>>> {
        let mut buffer = [0; 256];
        let len = self.input.read(&mut buffer)?;
        if len == 0 {
            return Ok(None);
        }
        self.line.extend(&buffer[..len]);
        let Some(end) = self.line.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(Some(Vec::new()));
        };
        let lines: Vec<u8> = self.line.drain(..=end).collect();
        let orders = String::from_utf8_lossy(&lines).lines().map(order::read_order).collect();
        let unknown = || io::Error::new(ErrorKind::InvalidData, "an unknown command");
        Option::ok_or_else(orders, unknown).map(Some)
    }
}
