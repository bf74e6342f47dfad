//! The processes that a figure needs: memcached, the proxy, and the floor.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio, exit};
use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_host::listen::{Address, Listeners};
use larder_record::{Files, Keys, Limits, Notify, Proxy, Settings, Upstream, Writer};
use larder_store::StoreUrl;
use larder_workload::trace::About;

use crate::floor;

/// The arguments by which this program becomes another process.
const PROXY: &str = "--proxy";
const FLOOR: &str = "--floor";

/// A way to memcached.
pub(crate) struct Way<'a> {
    pub(crate) name: &'static str,
    pub(crate) address: &'a str,
    pub(crate) memcached: &'a Server,
    /// The process between the client and memcached.
    pub(crate) between: Option<&'a Server>,
}

/// A process that serves until it is dropped.
pub(crate) struct Server(Child);

/// Serves as another process of the measurement, where the arguments ask for it.
pub(crate) fn serve_if_asked(arguments: &[String]) -> bool {
    match arguments {
        [role, upstream, file, share] if role == PROXY => {
            proxy(upstream, file, share.parse().unwrap());
        }
        [role, upstream] if role == FLOOR => floor::serve(upstream),
        _ => return false,
    }
    true
}

/// The proxy's process: it ends with its standard input.
#[expect(
    clippy::exit,
    reason = "the journal does not become a file, which is no part of the figures"
)]
fn proxy(upstream: &str, file: &str, share: f64) {
    let upstream = Upstream::of_url(&StoreUrl::parse(upstream).unwrap()).unwrap();
    let tell: Notify = Arc::new(|_, _, message: &str| println!("{message}"));
    let about = About { sample: Some(share), ..About::default() };
    let files = Files::begin(Path::new(file), about, Limits::default(), Arc::clone(&tell)).unwrap();
    let (writer, hand) = Writer::start(Box::new(files)).unwrap();
    let address = Address::Tcp("127.0.0.1:0".parse().unwrap());
    let listeners = Listeners::bind(&[address], 4096, Vec::new()).unwrap();
    let settings = Settings {
        upstream,
        tls: None,
        keys: Keys::new(&[7; 16]).sampled(share),
        threads: std::num::NonZero::<usize>::MIN,
        grace: Duration::from_secs(1),
    };
    let proxy = Proxy::start(listeners, settings, hand, tell).unwrap();
    println!("{}", proxy.addresses()[0]);
    let remote = proxy.remote();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        remote.end();
    });
    let seen = proxy.run().unwrap();
    assert_eq!((seen.n_lost, writer.dropped()), (0, 0), "lost connections, and dropped rows");
    exit(0);
}

impl Server {
    /// A memcached of one thread at these addresses.
    pub(crate) fn memcached(at: &[&str]) -> Self {
        let child = Command::new("memcached")
            .args(["-u", "root", "-t", "1", "-m", "256", "-c", "12000", "-b", "4096"])
            .args(at)
            .spawn();
        Self(child.unwrap())
    }

    /// A proxy, and its address.
    pub(crate) fn proxy(folder: &Path, upstream: &str, share: f64) -> (Self, String) {
        let name = upstream.len().to_string() + if share < 1.0 { "-sample" } else { "" };
        let file = folder.join(name).with_extension("parquet");
        Self::of_this_program(&[PROXY, upstream, file.to_str().unwrap(), &share.to_string()])
    }

    /// A floor, and its address.
    pub(crate) fn floor(upstream: &str) -> (Self, String) {
        Self::of_this_program(&[FLOOR, upstream])
    }

    fn of_this_program(arguments: &[&str]) -> (Self, String) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (Self(child), line.trim().to_owned())
    }

    /// Its processor time so far.
    pub(crate) fn cpu(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        let ns = tasks.map(|task| {
            let text = std::fs::read_to_string(task.unwrap().path().join("schedstat"));
            text.ok().and_then(|text| text.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0)
        });
        Duration::from_nanos(ns.sum())
    }

    /// The memory that it has in use, in MiB.
    pub(crate) fn memory_mib(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A proxy or a floor ends with its input, and memcached has none.
        if self.0.stdin.take().is_none() {
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

/// Waits until something is so.
pub(crate) fn within_a_moment(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(10), "it never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}
