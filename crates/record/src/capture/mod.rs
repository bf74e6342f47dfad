//! A recording of a capture of the network, where no proxy can stand.
//!
//! Packets become the two directions of each connection, and the same followers read them as beside a proxy. The times are
//! those of the packets.

mod file;
mod flow;
mod packet;
mod stream;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use larder_host::relay::Destination;

use crate::batch::BATCH_BYTES;
use crate::desk::{Counts, Desk};
use crate::follow::{Kind, Lost};
use crate::keys::Keys;
use crate::tell::{Tell, Weight};
use crate::upstream::Upstream;
use crate::write::Hand;
use file::{End, Packet, Packets};
use flow::{Context, Flow};
use packet::{Content, Segment, content};

/// The most connections that are held at once.
const MOST_FLOWS: usize = 1 << 17;

/// The most ends of other servers that are counted.
const MOST_OTHERS: usize = 4096;

/// A connection without packets for this time goes where there is no room.
const IDLE_NS: u64 = 300_000_000_000;

/// What was seen in a capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Captured {
    /// Operations.
    pub counts: Counts,
    /// Packets.
    pub n_packets: u64,
    /// Packets of the server.
    pub n_segments: u64,
    /// Connections to the server.
    pub n_connections: u64,
    /// Connections that were open before the capture, or before a gap, and are recorded from a later request on.
    pub n_joined: u64,
    /// Connections that were open before the capture, on which no request came to begin with.
    pub n_skipped: u64,
    /// Connections for which there was no room.
    pub n_too_many: u64,
    /// Encrypted connections.
    pub n_encrypted: u64,
    /// Connections that were not understood to their end.
    pub n_lost: u64,
    /// Connections that have turned to another use than a cache.
    pub n_other_use: u64,
    /// Places at which bytes are missing.
    pub n_gaps: u64,
    /// Packets whose ends the capture has left out.
    pub n_cut: u64,
    /// Bytes that came again.
    pub n_repeated: u64,
    /// Parts of packets of IP, which are not put together.
    pub n_fragments: u64,
    /// Packets of a kind of link that is not read.
    pub n_unknown_links: u64,
    /// The end of TCP that has the most packets, where no packet is the server's.
    pub busiest: Option<SocketAddr>,
    /// The byte at which the file ends within a packet.
    pub cut_at: Option<usize>,
}

/// What all connections are followed by.
pub(crate) struct Setting {
    kind: Kind,
    servers: Vec<SocketAddr>,
    tell: Tell,
}

impl Captured {
    fn lost(&mut self, lost: Lost, setting: &Setting) {
        self.n_lost += 1;
        if self.n_lost == 1 {
            let message = format!("a connection is not recorded to its end: {lost}");
            (setting.tell)(Weight::Warning, "not_followed", &message);
        }
    }
}

impl Setting {
    /// Whether this is the server. An address of zeros stands for every host.
    fn is_server(&self, address: SocketAddr) -> bool {
        self.servers.iter().any(|server| {
            server.port() == address.port()
                && (server.ip().is_unspecified() || server.ip() == address.ip().to_canonical())
        })
    }
}

/// The connections of a capture.
struct Capture<'a> {
    setting: Setting,
    flows: HashMap<(SocketAddr, SocketAddr), Flow>,
    desk: Desk,
    hand: &'a Hand,
    seen: Captured,
    held: usize,
    /// The packets of other ends of TCP, while no packet is the server's.
    others: HashMap<SocketAddr, u64>,
}

/// A capture that is open.
pub struct CaptureFile {
    packets: Packets,
    kind: Kind,
    servers: Vec<SocketAddr>,
}

impl std::fmt::Debug for CaptureFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CaptureFile").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl CaptureFile {
    /// Reads the beginning of a capture of the traffic of a server.
    ///
    /// # Errors
    ///
    /// The file is no capture, or the server cannot be seen in one. The message has no name of the file.
    pub fn open(input: impl Read + Send + 'static, upstream: &Upstream) -> Result<Self, String> {
        let Destination::Tcp(servers) = &upstream.destination else {
            return Err("has no traffic of a Unix socket; name a host and its port".into());
        };
        if upstream.tls.is_some() {
            return Err("cannot show what is encrypted; record a server with TLS by a proxy".into());
        }
        let packets = Packets::open(input)?;
        Ok(Self { packets, kind: upstream.kind, servers: servers.clone() })
    }

    /// Gives the rows of all connections to `hand`. It waits for the hand where that is slow, and ends early once
    /// `is_told_to_end`.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn record(
        mut self,
        keys: Keys,
        hand: &Hand,
        tell: &Tell,
        is_told_to_end: &AtomicBool,
    ) -> Result<Captured, String> {
        let setting = Setting { kind: self.kind, servers: self.servers, tell: Tell::clone(tell) };
        let mut capture = Capture {
            setting,
            flows: HashMap::new(),
            desk: Desk::new(keys, 0, 1),
            hand,
            seen: Captured::default(),
            held: 0,
            others: HashMap::new(),
        };
        let end = self.packets.each(|packet| {
            capture.packet(packet);
            !is_told_to_end.load(Ordering::Relaxed)
        });
        if let Ok(End::Cut(at)) = end {
            capture.seen.cut_at = Some(at);
        }
        let seen = capture.finish();
        end.map(|_| seen)
    }
}

impl Capture<'_> {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.seen.n_packets += 1;
        match content(packet.link, packet.data) {
            Content::Tcp(segment) => self.segment(&segment, packet.at_ns),
            Content::Fragment => self.seen.n_fragments += 1,
            Content::UnknownLink => self.seen.n_unknown_links += 1,
            Content::Other => {}
        }
        if self.desk.batch.size_bytes() >= BATCH_BYTES {
            self.hand.give_patiently(&mut self.desk.batch);
        }
    }

    fn segment(&mut self, segment: &Segment<'_>, at_ns: u64) {
        let is_request = self.setting.is_server(segment.to);
        if !is_request && !self.setting.is_server(segment.from) {
            self.other(segment);
            return;
        }
        self.seen.n_segments += 1;
        let ends = if is_request { (segment.from, segment.to) } else { (segment.to, segment.from) };
        let begins = segment.is_first && is_request;
        if begins && self.flows.get(&ends).is_some_and(|flow| flow.is_another(segment)) {
            self.end(ends, true);
        }
        if !self.flows.contains_key(&ends) {
            // The last words of a connection that is over are not the first ones of another.
            let is_new = segment.is_first || !segment.bytes.is_empty();
            if !is_new || !self.has_room(at_ns) {
                return;
            }
            let number = u32::try_from(self.seen.n_connections).unwrap_or(u32::MAX);
            self.seen.n_connections += 1;
            self.flows.insert(ends, Flow::new(number));
        }
        let Some(flow) = self.flows.get_mut(&ends) else { return };
        let (desk, seen, held) = (&mut self.desk, &mut self.seen, &mut self.held);
        let mut context = Context { setting: &self.setting, desk, seen, held };
        if flow.take(segment, is_request, at_ns, &mut context) {
            self.end(ends, true);
        }
    }

    /// Counts a segment of another server: a person who named a wrong one wants to know which is there.
    fn other(&mut self, segment: &Segment<'_>) {
        if self.seen.n_segments > 0 {
            return;
        }
        for end in [segment.from, segment.to] {
            if self.others.len() < MOST_OTHERS || self.others.contains_key(&end) {
                *self.others.entry(end).or_default() += 1;
            }
        }
    }

    /// Makes room for another connection, if need be.
    fn has_room(&mut self, at_ns: u64) -> bool {
        if self.flows.len() >= MOST_FLOWS {
            let is_idle = |flow: &Flow| at_ns.saturating_sub(flow.last_ns) >= IDLE_NS;
            let idle = self.flows.iter().filter(|(_, flow)| is_idle(flow));
            let idle: Vec<_> = idle.map(|(ends, _)| *ends).collect();
            for ends in idle {
                self.end(ends, false);
            }
        }
        let has_room = self.flows.len() < MOST_FLOWS;
        self.seen.n_too_many += u64::from(!has_room);
        has_room
    }

    fn end(&mut self, ends: (SocketAddr, SocketAddr), is_over: bool) {
        if let Some(flow) = self.flows.remove(&ends) {
            let (desk, seen, held) = (&mut self.desk, &mut self.seen, &mut self.held);
            flow.end(is_over, &mut Context { setting: &self.setting, desk, seen, held });
        }
    }

    /// Ends all connections, in the order in which they began.
    fn finish(mut self) -> Captured {
        let mut left: Vec<_> = self.flows.iter().map(|(ends, flow)| (flow.number, *ends)).collect();
        left.sort_unstable();
        for (_, ends) in left {
            self.end(ends, false);
        }
        self.hand.give_patiently(&mut self.desk.batch);
        if self.seen.n_segments == 0 {
            let busiest = self.others.iter().max_by_key(|(end, n)| (**n, Reverse(end.port())));
            self.seen.busiest = busiest.map(|(end, _)| *end);
        }
        Captured { counts: self.desk.counts, ..self.seen }
    }
}
