//! The processes of all hosts, their servers and wires, and what disturbs them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use larder_host::scratch::ScratchDir;
use larder_testkit::{Random, SecondProcess};

use super::history::Event;
use super::job::{Job, now};
use super::lossy::Lossy;
use super::modes::{Channel, Mode, Wires};
use super::network::Network;
use super::servers::{Kind, Restarted, Wire};
use super::worker;

const HOSTS: usize = 2;

/// The processes of a host: some write, and the last only reads.
const PER_HOST: usize = 3;

/// The processes that write.
pub(crate) const N_WRITERS: u32 = 4;

/// The time between two restarts of the lowest tier, and before the first. A restart empties that tier, and what is absent
/// cannot be too old.
const RESTARTS: Duration = Duration::from_secs(20);

/// The delay of a wire to the lowest tier, and that of a wire to the channel's server.
const DELAYS: [&str; 2] = ["delay:500us", "delay:20ms"];

pub(crate) struct Crew {
    folder: ScratchDir,
    mode: Mode,
    begun: u64,
    lowest: Restarted,
    restarted: Instant,
    /// The channel's server, if it is another one.
    channel: Option<Restarted>,
    /// The hosts, where each is a namespace.
    network: Option<Network>,
    /// What loses messages, where that is wanted.
    lossy: Option<Lossy>,
    /// The wires of each host to the lowest tier, and to the channel's server.
    wires: Vec<(Wire, Option<Wire>)>,
    processes: Vec<SecondProcess>,
    histories: Vec<PathBuf>,
    /// The number of disturbances of each kind.
    pub(crate) deeds: BTreeMap<&'static str, u32>,
}

impl Crew {
    pub(crate) fn start(mode: Mode) -> Self {
        let folder = ScratchDir::create("consistency").unwrap();
        File::create(origin(folder.path())).unwrap();
        let network = (mode.wires == Wires::Links).then(|| Network::of(HOSTS).unwrap());
        let listen = if network.is_some() { "0.0.0.0" } else { "127.0.0.1" };
        let lowest = Restarted::start(mode.lowest, listen);
        let has_channel = mode.channel == Channel::Messages;
        let channel = has_channel.then(|| Restarted::start(Kind::Redis, listen));
        let local = |server: &Restarted| format!("127.0.0.1:{}", server.port);
        let loses = mode.wires == Wires::Lossy;
        let lossy = channel.as_ref().filter(|_| loses).map(|server| Lossy::to(&local(server)));
        let address = |host, server: &Restarted| match network {
            Some(_) => format!("{}:{}", Network::address(host), server.port),
            None => local(server),
        };
        let wires = |host| {
            let to_channel = channel.as_ref().map(|server| {
                let address = lossy.as_ref().map_or_else(|| address(host, server), Lossy::address);
                Wire::to(&address, DELAYS[1])
            });
            (Wire::to(&address(host, &lowest), DELAYS[0]), to_channel)
        };
        let wires = (0..HOSTS).map(|host| on(network.as_ref(), host, || wires(host))).collect();
        let mut crew = Self {
            folder,
            mode,
            begun: now(),
            lowest,
            restarted: Instant::now(),
            channel,
            network,
            lossy,
            wires,
            processes: Vec::new(),
            histories: Vec::new(),
            deeds: BTreeMap::new(),
        };
        for number in 0..HOSTS * PER_HOST {
            let process = crew.process(number, true);
            crew.processes.push(process);
        }
        crew
    }

    /// The number of a process among those that write.
    fn writer(number: usize) -> Option<u32> {
        u32::try_from(number).ok().filter(|number| *number < N_WRITERS)
    }

    fn process(&mut self, number: usize, is_first: bool) -> SecondProcess {
        let host = number % HOSTS;
        let path = |name: String| self.folder.path().join(name);
        let history = path(format!("history-{}", self.histories.len()));
        let job = Job {
            url: self.url(host, &path(format!("l1-{host}"))),
            history: history.clone(),
            origin: origin(self.folder.path()),
            work: self.mode.work,
            writer: Self::writer(number),
            n_writers: N_WRITERS,
            is_first,
            period: self.mode.period,
            begun: self.begun,
        };
        self.histories.push(history);
        on(self.network.as_ref(), host, || worker::start(&job))
    }

    fn url(&self, host: usize, l1: &Path) -> String {
        let (to_lowest, to_channel) = &self.wires[host];
        let scheme = match self.mode.lowest {
            Kind::Memcached => "memcached",
            Kind::Redis => "redis",
        };
        let channel = match (self.mode.channel, to_channel) {
            (Channel::Messages, Some(wire)) => format!("&channel=redis://{}", wire.address()),
            (Channel::Tracking, _) => "&channel=tracking".to_owned(),
            _ => String::new(),
        };
        format!(
            "tiered:mmap:{}?size=1m|{scheme}://{}?timeout=500ms&breaker=5|?{}{channel}",
            l1.display(),
            to_lowest.address(),
            self.mode.options
        )
    }

    fn count(&mut self, deed: &'static str) {
        *self.deeds.entry(deed).or_default() += 1;
    }

    /// Kills one process, and starts another of its host. With messages a killed writer may not have published what it had
    /// acknowledged, which only `l1_ttl` bounds: so one that only reads is killed there. It may be the subscriber.
    pub(crate) fn kill_one(&mut self, draw: &mut Random) {
        let first = if self.mode.channel == Channel::Messages { N_WRITERS as usize } else { 0 };
        let number = first + draw.below(self.processes.len() - first);
        self.processes[number] = self.process(number, false);
        self.count("kills");
    }

    pub(crate) fn freeze_lowest(&mut self, time: Duration) {
        self.lowest.freeze(time);
        self.count("stops of the lowest tier");
    }

    pub(crate) fn is_restart_due(&self) -> bool {
        self.restarted.elapsed() > RESTARTS
    }

    pub(crate) fn restart_lowest(&mut self, after: Duration) {
        self.restarted = Instant::now();
        self.lowest.restart(after);
        self.count("restarts of the lowest tier");
    }

    pub(crate) fn part_from_lowest(&mut self, draw: &mut Random, time: Duration) {
        let host = draw.below(HOSTS);
        if self.network.is_some() {
            return self.part_from_all(host, time);
        }
        self.wires[host].0.part(time);
        self.count("partitions from the lowest tier");
    }

    pub(crate) fn part_from_channel(&mut self, draw: &mut Random, time: Duration) {
        let host = draw.below(HOSTS);
        if self.network.is_some() {
            return self.part_from_all(host, time);
        }
        let (to_lowest, to_channel) = &self.wires[host];
        to_channel.as_ref().unwrap_or(to_lowest).part(time);
        self.count("partitions from the channel");
    }

    fn part_from_all(&mut self, host: usize, time: Duration) {
        Network::part(host, time);
        self.count("partitions from all servers");
    }

    pub(crate) fn cut_subscribers(&mut self) {
        self.channel.as_ref().unwrap_or(&self.lowest).cut_subscribers();
        self.count("lost connections of the channel");
    }

    /// Ends all processes, which must be at work.
    pub(crate) fn end(&mut self) {
        let have_ended =
            self.processes.iter_mut().filter_map(|it| (!it.is_running()).then_some(()));
        assert_eq!(have_ended.count(), 0, "a process has failed");
        self.processes.clear();
        if let Some(lossy) = &self.lossy {
            self.deeds.insert("lost messages", lossy.n_lost());
            assert_ne!(lossy.n_lost(), 0, "no message was lost");
        }
    }

    /// What all processes have written down.
    pub(crate) fn events(&self) -> Vec<Event> {
        let lines = |path: &PathBuf| {
            let text = fs::read_to_string(path).unwrap_or_default();
            text.lines().filter_map(Event::parse).collect::<Vec<_>>()
        };
        self.histories.iter().flat_map(lines).collect()
    }
}

/// Does this work on a host, if hosts are namespaces.
fn on<T>(network: Option<&Network>, host: usize, work: impl FnOnce() -> T) -> T {
    match network {
        Some(network) => network.on(host, work),
        None => work(),
    }
}

fn origin(folder: &Path) -> PathBuf {
    folder.join("origin")
}
