//! A recording of a capture of the network, where no proxy can stand.
//!
//! Packets become the two directions of each connection, and the same followers read them as beside a proxy. The times are
//! those of the packets.

mod captured;
mod file;
mod flow;
mod packet;
mod stream;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use larder_host::destination::Destination;

use crate::batch::BATCH_BYTES;
use crate::follow::Kind;
use crate::keys::Keys;
use crate::notice::Notify;
use crate::recorder::Recorder;
use crate::upstream::Upstream;
use crate::write::RowSender;
use captured::CaptureSettings;
pub use captured::Captured;
use file::{End, Packet, Packets};
use flow::{Flow, FlowContext};
pub use packet::Tunnel;
use packet::{Content, Segment, content};

/// The most connections that are held at once.
const MAX_FLOWS: usize = 1 << 17;

/// The most ends of other servers that are counted.
const MAX_OTHERS: usize = 4096;

/// At the limit, a connection without packets for this time is ended.
const IDLE_NS: u64 = 300_000_000_000;

/// The connections of a capture.
struct Capture<'a> {
    setting: CaptureSettings,
    flows: HashMap<(SocketAddr, SocketAddr), Flow>,
    recorder: Recorder,
    row_sender: &'a RowSender,
    totals: Captured,
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

    /// Sends the rows of all connections to `row_sender`, and waits while its queue is full. It ends early once
    /// `is_told_to_end`.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn record(
        mut self,
        keys: Keys,
        row_sender: &RowSender,
        notify: &Notify,
        is_told_to_end: &AtomicBool,
    ) -> Result<Captured, String> {
        let setting = CaptureSettings {
            kind: self.kind,
            servers: self.servers,
            notify: Notify::clone(notify),
        };
        let mut capture = Capture {
            setting,
            flows: HashMap::new(),
            recorder: Recorder::new(keys, 0, 1),
            row_sender,
            totals: Captured::default(),
            held: 0,
            others: HashMap::new(),
        };
        let end = self.packets.each(|packet| {
            capture.packet(packet);
            !is_told_to_end.load(Ordering::Relaxed)
        });
        if let Ok(End::Cut(at)) = end {
            capture.totals.cut_at = Some(at);
        }
        let totals = capture.finish();
        end.map(|_| totals)
    }
}

impl Capture<'_> {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.totals.n_packets += 1;
        match content(packet.link, packet.data) {
            Content::Tcp(segment) => self.segment(&segment, packet.at_ns),
            Content::Fragment => self.totals.n_fragments += 1,
            Content::Within(tunnel) => {
                self.totals.n_within += 1;
                self.totals.within.get_or_insert(tunnel);
            }
            Content::UnknownLink => self.totals.n_unknown_links += 1,
            Content::Other => {}
        }
        if self.recorder.batch.size_bytes() >= BATCH_BYTES {
            self.row_sender.send_blocking(&mut self.recorder.batch);
        }
    }

    fn segment(&mut self, segment: &Segment<'_>, at_ns: u64) {
        let is_request = self.setting.is_server(segment.to);
        if !is_request && !self.setting.is_server(segment.from) {
            self.other(segment);
            return;
        }
        self.totals.n_segments += 1;
        let ends = if is_request { (segment.from, segment.to) } else { (segment.to, segment.from) };
        let begins = segment.is_first && is_request;
        if begins && self.flows.get(&ends).is_some_and(|flow| flow.is_another(segment)) {
            self.end(ends, true);
        }
        if !self.flows.contains_key(&ends) {
            // The last packets of a connection that has ended do not begin another.
            let is_new = segment.is_first || !segment.bytes.is_empty();
            if !is_new || !self.has_room(at_ns) {
                return;
            }
            let number = u32::try_from(self.totals.n_connections).unwrap_or(u32::MAX);
            self.totals.n_connections += 1;
            self.flows.insert(ends, Flow::new(number));
        }
        let Some(flow) = self.flows.get_mut(&ends) else { return };
        let (recorder, totals, held) = (&mut self.recorder, &mut self.totals, &mut self.held);
        let mut context = FlowContext { setting: &self.setting, recorder, totals, held };
        if flow.take(segment, is_request, at_ns, &mut context) {
            self.end(ends, true);
        }
    }

    /// Counts a segment of another server. If the user named a wrong server, the message suggests the busiest.
    fn other(&mut self, segment: &Segment<'_>) {
        if self.totals.n_segments > 0 {
            return;
        }
        for end in [segment.from, segment.to] {
            if self.others.len() < MAX_OTHERS || self.others.contains_key(&end) {
                *self.others.entry(end).or_default() += 1;
            }
        }
    }

    /// Whether another connection may be added; at the limit, idle ones are ended first.
    fn has_room(&mut self, at_ns: u64) -> bool {
        if self.flows.len() >= MAX_FLOWS {
            let is_idle = |flow: &Flow| at_ns.saturating_sub(flow.last_ns) >= IDLE_NS;
            let idle = self.flows.iter().filter(|(_, flow)| is_idle(flow));
            let idle: Vec<_> = idle.map(|(ends, _)| *ends).collect();
            for ends in idle {
                self.end(ends, false);
            }
        }
        let has_room = self.flows.len() < MAX_FLOWS;
        self.totals.n_too_many += u64::from(!has_room);
        has_room
    }

    fn end(&mut self, ends: (SocketAddr, SocketAddr), is_over: bool) {
        if let Some(flow) = self.flows.remove(&ends) {
            let (recorder, totals, held) = (&mut self.recorder, &mut self.totals, &mut self.held);
            flow.end(is_over, &mut FlowContext { setting: &self.setting, recorder, totals, held });
        }
    }

    /// Ends all connections, in the order in which they began.
    fn finish(mut self) -> Captured {
        let mut left: Vec<_> = self.flows.iter().map(|(ends, flow)| (flow.number, *ends)).collect();
        left.sort_unstable();
        for (_, ends) in left {
            self.end(ends, false);
        }
        self.row_sender.send_blocking(&mut self.recorder.batch);
        if self.totals.n_segments == 0 {
            let busiest = self.others.iter().max_by_key(|(end, n)| (**n, Reverse(end.port())));
            self.totals.busiest = busiest.map(|(end, _)| *end);
        }
        Captured { counts: self.recorder.counts, ..self.totals }
    }
}
