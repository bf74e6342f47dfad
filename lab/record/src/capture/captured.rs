//! The counters of a capture, and the settings by which its connections are followed.

use std::net::SocketAddr;

use super::packet::Tunnel;
use crate::follow::{Kind, StopReason};
use crate::notice::{Notify, Severity};
use crate::recorder::Counts;

/// The counters of a capture.
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
    /// Connections beyond the limit.
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
    /// Packets within other packets, which are not read.
    pub n_within: u64,
    /// The tunnel of the first of them.
    pub within: Option<Tunnel>,
    /// Packets of a kind of link that is not read.
    pub n_unknown_links: u64,
    /// The end of TCP that has the most packets, where no packet is the server's.
    pub busiest: Option<SocketAddr>,
    /// The byte at which the file ends within a packet.
    pub cut_at: Option<usize>,
}

/// The settings by which all connections are followed.
pub(crate) struct CaptureSettings {
    pub(super) kind: Kind,
    pub(super) servers: Vec<SocketAddr>,
    pub(super) notify: Notify,
}

impl Captured {
    pub(super) fn lost(&mut self, lost: StopReason, setting: &CaptureSettings) {
        self.n_lost += 1;
        if self.n_lost == 1 {
            let message = format!("a connection is not recorded to its end: {lost}");
            (setting.notify)(Severity::Warning, "not_followed", &message);
        }
    }
}

impl CaptureSettings {
    /// Whether this is the server. An address of zeros stands for every host.
    pub(super) fn is_server(&self, address: SocketAddr) -> bool {
        self.servers.iter().any(|server| {
            server.port() == address.port()
                && (server.ip().is_unspecified() || server.ip() == address.ip().to_canonical())
        })
    }
}
