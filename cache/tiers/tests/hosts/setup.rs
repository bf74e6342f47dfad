//! The servers of a test, the files of its hosts, and a client that is no stack.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use larder_engines::ENGINES;
use larder_host::scratch::ScratchDir;
use larder_store::{Remaining, Result, Session, Store, StoreUrl};
use larder_testkit::{PATIENCE, signal};

/// More than the 10 s for which a value stays in L1 without a subscriber, and less than the hour of a value that stays for
/// long: L1 rounds a TTL up.
const SHORT: Duration = Duration::from_mins(1);

/// The password of a user of the Redis.
pub(super) const PASSWORD: &str = "open%2Fsesame";

/// Two hosts and their servers.
pub(super) struct Hosts {
    folder: ScratchDir,
    /// The Redis, and where it is.
    redis: Arc<dyn Store>,
    redis_at: String,
    /// The lowest tier, if that is another server, and where it is.
    memcached: Option<(Arc<dyn Store>, String)>,
}

pub(super) fn open(url: &str) -> Result<Arc<dyn Store>> {
    ENGINES.open(&StoreUrl::parse(url)?)
}

impl Hosts {
    /// Starts the servers. With `tracking`, the lowest tier is the Redis itself.
    pub(super) fn open(tracking: bool) -> Result<Self> {
        let redis = open("redis:")?;
        let at = |store: &Arc<dyn Store>| store.info().settings["nodes"].clone();
        let memcached = if tracking { None } else { Some(open("memcached:")?) };
        let hosts = Self {
            folder: ScratchDir::create("hosts")?,
            redis_at: at(&redis),
            memcached: memcached.map(|store| (Arc::clone(&store), at(&store))),
            redis,
        };
        let password = "open/sesame";
        hosts.client().ask(&format!("ACL SETUSER larder on >{password} allkeys allchannels +@all"));
        Ok(hosts)
    }

    pub(super) fn is_tracking(&self) -> bool {
        self.memcached.is_none()
    }

    fn l1_url(&self, host: usize) -> String {
        format!("mmap:{}?size=1m", self.folder.path().join(host.to_string()).display())
    }

    /// The URL of the stack of a host.
    pub(super) fn url(&self, host: usize) -> String {
        let (l1, redis) =
            (self.l1_url(host), format!("redis://larder:{PASSWORD}@{}", self.redis_at));
        match &self.memcached {
            None => format!("tiered:{l1}|{redis}|?l1_ttl=1h&channel=tracking"),
            Some((_, memcached)) => {
                // It is a URL within a URL.
                let redis = redis.replace('%', "%25");
                format!(
                    "tiered:{l1}|memcached://{memcached}|?l1_ttl=1h&channel={redis}?timeout=60s"
                )
            }
        }
    }

    pub(super) fn stack(&self, host: usize) -> Arc<dyn Store> {
        open(&self.url(host)).unwrap()
    }

    /// The value in the L1 of a host with its remaining TTL, read past the stack.
    fn entry(&self, host: usize, key: &str) -> Option<(String, Duration)> {
        let mut value = Vec::new();
        let l1 = open(&self.l1_url(host)).unwrap();
        let meta = l1.session().unwrap().get(key.as_bytes(), &mut value).unwrap()?;
        let Remaining::For(left) = meta.ttl else { panic!("{:?}", meta.ttl) };
        Some((String::from_utf8(value).unwrap(), left))
    }

    pub(super) fn above(&self, host: usize, key: &str) -> Option<String> {
        self.entry(host, key).map(|(value, _)| value)
    }

    pub(super) fn is_for_long(&self, host: usize, key: &str) -> bool {
        self.entry(host, key).is_some_and(|(_, left)| left > SHORT)
    }

    /// Drops a value of L1 that was not stored for long.
    pub(super) fn drop_short(&self, host: usize, key: &str) {
        if self.entry(host, key).is_some_and(|(_, left)| left <= SHORT) {
            let l1 = open(&self.l1_url(host)).unwrap();
            l1.session().unwrap().delete(key.as_bytes()).unwrap();
        }
    }

    /// Reads a key until the L1 of the host has it for long.
    pub(super) fn warm(&self, host: usize, session: &mut dyn Session, key: &str) {
        until("L1 has it for long", || {
            self.drop_short(host, key);
            get(session, key).is_some() && self.is_for_long(host, key)
        });
    }

    /// Stops the Redis, without an end of its connections, for as long as the answer lives.
    pub(super) fn stopped(&self) -> Stopped {
        let pid = self.redis.info().server_pids[0];
        signal(pid, libc::SIGSTOP);
        Stopped(pid)
    }

    /// A client of the Redis.
    pub(super) fn client(&self) -> Client {
        let stream = TcpStream::connect(&self.redis_at).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client(BufReader::new(stream))
    }
}

/// While this lives, a process is stopped.
pub(super) struct Stopped(u32);

impl Drop for Stopped {
    fn drop(&mut self) {
        signal(self.0, libc::SIGCONT);
    }
}

/// A client that knows nothing of stacks.
pub(super) struct Client(BufReader<TcpStream>);

impl Client {
    /// A client that has logged in.
    pub(super) fn greeted(hosts: &Hosts) -> Self {
        let mut client = hosts.client();
        assert_eq!(client.ask("AUTH larder open/sesame"), "+OK");
        client
    }

    /// The first line of the answer to a command.
    pub(super) fn ask(&mut self, command: &str) -> String {
        self.0.get_mut().write_all(format!("{command}\r\n").as_bytes()).unwrap();
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        let line = line.trim_end().to_owned();
        assert!(!line.starts_with('-'), "{command}: {line}");
        line
    }

    /// Cuts the connections of all subscribers, of which there is at least one.
    pub(super) fn killed_subscribers(&mut self) {
        assert_ne!(self.ask("CLIENT KILL TYPE pubsub"), ":0");
    }
}

pub(super) fn get(session: &mut dyn Session, key: &str) -> Option<String> {
    let mut value = Vec::new();
    let found = session.get(key.as_bytes(), &mut value).unwrap();
    found.map(|_| String::from_utf8(value).unwrap())
}

pub(super) fn count(stack: &dyn Store, name: &str) -> u64 {
    let counters = stack.counters().unwrap();
    counters.iter().find(|counter| counter.name == name).unwrap().value
}

/// Waits until this is so.
pub(super) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "in vain until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
