//! A connection of the application, the proxy's connection to the server in its place, and the follower of both.

use std::io;
use std::time::Instant;

use larder_host::connect::connect;
use larder_host::epoll::{Epoll, WRITABLE};
use larder_host::stream::Stream;

use super::side::Side;
use crate::follow::{Follower, StopReason};
use crate::recorder::Recorder;
use crate::upstream::Upstream;

/// The two ends of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Application,
    Server,
}

impl End {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Application => Self::Server,
            Self::Server => Self::Application,
        }
    }
}

/// A link.
#[derive(Debug)]
pub(super) struct Link {
    application: Side,
    server: Side,
    follower: Option<Box<Follower>>,
    is_connecting: bool,
    /// The number of the server's addresses that were tried.
    n_tried: usize,
    /// Its share of the bytes that all links of the event loop keep.
    pub(super) share: usize,
    /// It gets its next turn without an event.
    pub(super) is_queued: bool,
    /// The last time at which bytes passed, to the precision of the event loop's waits.
    pub(super) last_passed: Instant,
}

impl Link {
    /// Links an accepted connection to the server, and begins the connection there.
    pub(super) fn new(
        application: Stream,
        upstream: &Upstream,
        connection: u32,
        now: Instant,
    ) -> Result<Self, (Stream, io::Error)> {
        let mut n_tried = 0;
        let server = match begin(upstream, &mut n_tried) {
            Ok(server) => server,
            Err(error) => return Err((application, error)),
        };
        Ok(Self {
            application: Side::new(application),
            server: Side::new(server),
            follower: Some(Box::new(Follower::new(upstream.kind, connection))),
            is_connecting: true,
            n_tried,
            share: 0,
            is_queued: false,
            last_passed: now,
        })
    }

    #[inline]
    pub(super) fn side(&mut self, end: End) -> &mut Side {
        match end {
            End::Application => &mut self.application,
            End::Server => &mut self.server,
        }
    }

    pub(super) fn is_connecting(&self) -> bool {
        self.is_connecting
    }

    /// Goes on with the connection to the server.
    ///
    /// # Errors
    ///
    /// The server cannot be reached.
    pub(super) fn continue_connecting(&mut self, upstream: &Upstream) -> io::Result<()> {
        let socket = self.server.stream().socket();
        if let Some(error) = socket.take_error()? {
            let next = begin(upstream, &mut self.n_tried).map_err(|_| error)?;
            // The old socket leaves the epoll set when it is closed.
            self.server = Side::new(next);
        } else if socket.peer_addr().is_ok() {
            self.is_connecting = false;
            // An encrypted stream begins to shake hands.
            self.server.send_kept();
        }
        Ok(())
    }

    /// Has the follower read the bytes that passed from an end.
    #[inline]
    pub(super) fn follow(
        &mut self,
        from: End,
        bytes: &[u8],
        at_ns: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let Some(follower) = &mut self.follower else { return Ok(()) };
        let done = match from {
            End::Application => follower.requests(bytes, at_ns, recorder),
            End::Server => follower.answers(bytes, at_ns, recorder),
        };
        if done.is_err() {
            self.stop_following(true, recorder);
        }
        done
    }

    /// Ends the following. Requests without an answer are recorded as such, unless the follower has lost track.
    pub(super) fn stop_following(&mut self, is_lost: bool, recorder: &mut Recorder) {
        if let Some(follower) = self.follower.take() {
            follower.end(is_lost, recorder);
        }
    }

    /// Whether no request waits for its answer, as far as it is followed.
    pub(super) fn is_quiet(&self) -> bool {
        let is_quiet = self.follower.as_ref().is_none_or(|follower| follower.is_quiet());
        is_quiet && !self.application.has_kept() && !self.server.has_kept()
    }

    /// Whether it is followed.
    pub(super) fn is_followed(&self) -> bool {
        self.follower.is_some()
    }

    /// Whether nothing more passes in either direction.
    pub(super) fn is_finished(&self) -> bool {
        let is_finished = |from: &Side, to: &Side| (from.has_ended && !to.has_kept()) || to.is_shut;
        is_finished(&self.application, &self.server) && is_finished(&self.server, &self.application)
    }

    /// The bytes that wait on both ends.
    #[inline]
    pub(super) fn kept_bytes(&self) -> usize {
        self.application.kept_bytes() + self.server.kept_bytes()
    }

    /// Lets an end that broke off be seen at the other one.
    pub(super) fn pass_on_breaks(&self) {
        for (side, other) in [(&self.application, &self.server), (&self.server, &self.application)]
        {
            if side.is_broken {
                other.break_off();
            }
        }
    }

    /// Watches both ends for what they wait for.
    #[inline]
    pub(super) fn watch(&mut self, epoll: &Epoll, token: impl Fn(End) -> u64) -> io::Result<()> {
        let wants = if self.is_connecting {
            [0, WRITABLE]
        } else {
            let application = self.application.wants(!self.server.has_kept());
            [application, self.server.wants(!self.application.has_kept())]
        };
        for (end, wants) in [End::Application, End::Server].into_iter().zip(wants) {
            let side = self.side(end);
            if side.interest != wants {
                epoll.watch(side.fd(), token(end), side.interest, wants)?;
                side.interest = wants;
            }
        }
        Ok(())
    }
}

/// Begins a connection to the next address of a server.
fn begin(upstream: &Upstream, n_tried: &mut usize) -> io::Result<Stream> {
    let socket = connect(&upstream.destination, n_tried)?;
    if !matches!(upstream.destination, larder_host::destination::Destination::Unix(_)) {
        // A connection to a server whose machine is down must end some day.
        socket.set_keepalive(true)?;
    }
    Stream::to_server(socket, upstream.tls.clone())
}
