//! What the proxy costs, against a real memcached: round trips, processor time, many connections.
//!
//!     cargo run --release -p larder-record --example load
//!
//! Each figure is of turns past the proxy and through it, one after the other. Processor time is that of the whole process,
//! the writing of the journal included. Words are parts of the figures' names, so that only those run.

#![expect(clippy::print_stdout, reason = "its figures")]
#![expect(clippy::unwrap_used, reason = "a measurement without what it needs has failed")]
#![expect(clippy::cast_precision_loss, reason = "figures need few digits")]
#![expect(
    clippy::exit,
    clippy::format_collect,
    clippy::naive_bytecount,
    clippy::print_stderr,
    clippy::unchecked_time_subtraction,
    reason = "a program of measurements, which tells what it sees and ends"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_host::listen::{Address, Listeners};
use larder_record::{Files, Keys, Limits, Proxy, Settings, Tell, Upstream, Writer};
use larder_store::StoreUrl;
use larder_workload::trace::About;

const VALUE_LEN: usize = 100;
const KEYS: usize = 100_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, upstream, file, share] = &words[..]
        && role == "--proxy"
    {
        return proxy(upstream, file, share.parse().unwrap());
    }
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(&**word));
    let folder = tempfile::tempdir().unwrap();
    larder_host::limits::raise_open_files().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let over_tcp = Server::memcached(&["-l", "127.0.0.1", "-p", &port]);
    let socket = folder.path().join("memcached.sock");
    let over_unix = Server::memcached(&["-s", socket.to_str().unwrap()]);
    let direct = format!("127.0.0.1:{port}");
    within_a_moment(|| TcpStream::connect(&direct).is_ok() && socket.exists());
    for share in [1.0, 0.01] {
        let start = |upstream: &str| Server::proxy(folder.path(), upstream, share);
        let (to_tcp, tcp) = start(&format!("memcached://{direct}"));
        let (to_unix, unix) = start(&format!("memcached:{}", socket.display()));
        fill(&direct);
        fill(&unix);
        let ways = [
            Way { name: "past the proxy", address: &direct, memcached: &over_tcp, proxy: None },
            Way { name: "through, TCP", address: &tcp, memcached: &over_tcp, proxy: Some(&to_tcp) },
            Way {
                name: "through, socket",
                address: &unix,
                memcached: &over_unix,
                proxy: Some(&to_unix),
            },
        ];
        if wanted("round trips") {
            println!("\nround trips of a get, {} of the keys recorded", percent(share));
            round_trips(&ways);
        }
        if wanted("pipeline") {
            println!(
                "\n40 connections x 16 gets sent together, {} of the keys recorded",
                percent(share)
            );
            driven(&ways, 16, |numbers| {
                numbers
                    .iter()
                    .flat_map(|number| format!("get {}\r\n", key(*number)).into_bytes())
                    .collect()
            });
        }
        if wanted("multi") {
            println!(
                "\n40 connections x gets of 100 keys, {} of the keys recorded",
                percent(share)
            );
            driven(&ways, 100, |numbers| {
                let keys: Vec<String> = numbers.iter().map(|number| key(*number)).collect();
                format!("get {}\r\n", keys.join(" ")).into_bytes()
            });
        }
        if wanted("many") && share >= 1.0 {
            many(&unix, &to_unix);
        }
    }
}

/// The proxy's process: it ends with its standard input.
fn proxy(upstream: &str, file: &str, share: f64) {
    let upstream = Upstream::of_url(&StoreUrl::parse(upstream).unwrap()).unwrap();
    let tell: Tell = Arc::new(|_, _, message: &str| println!("{message}"));
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
    let dropped = writer.dropped();
    eprintln!("the proxy followed {} operations, and dropped {dropped}", seen.counts.operations);
    // The journal does not become a file here: that is no part of these figures.
    std::process::exit(0);
}

/// A way to memcached.
struct Way<'a> {
    name: &'a str,
    address: &'a str,
    memcached: &'a Server,
    proxy: Option<&'a Server>,
}

/// A process that serves.
struct Server(Child);

impl Server {
    fn memcached(at: &[&str]) -> Self {
        let child = Command::new("memcached")
            .args(["-u", "root", "-t", "1", "-m", "256", "-c", "12000", "-b", "4096"])
            .args(at)
            .spawn();
        Self(child.unwrap())
    }

    fn proxy(folder: &Path, upstream: &str, share: f64) -> (Self, String) {
        let name = upstream.len().to_string() + if share < 1.0 { "-sample" } else { "" };
        let file = folder.join(name).with_extension("parquet");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--proxy", upstream, file.to_str().unwrap(), &share.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (Self(child), line.trim().to_owned())
    }

    /// Its processor time so far.
    fn cpu(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        let ns = tasks.map(|task| {
            let text = std::fs::read_to_string(task.unwrap().path().join("schedstat"));
            text.ok().and_then(|text| text.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0)
        });
        Duration::from_nanos(ns.sum())
    }

    /// The memory that it has in use, in MiB.
    fn memory_mib(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        if self.0.stdout.is_none() {
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

fn within_a_moment(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(10), "it never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn percent(share: f64) -> String {
    format!("{} %", share * 100.0)
}

fn key(number: usize) -> String {
    format!("key:{number:012}")
}

fn connect(address: &str) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_nodelay(true).unwrap();
    socket
}

fn fill(address: &str) {
    let mut socket = connect(address);
    let value = "v".repeat(VALUE_LEN);
    for begin in (0..KEYS).step_by(1000) {
        let sets: String = (begin..begin + 1000)
            .map(|number| format!("set {} 0 0 {VALUE_LEN} noreply\r\n{value}\r\n", key(number)))
            .collect();
        socket.write_all(format!("{sets}version\r\n").as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(&socket).read_line(&mut line).unwrap();
        assert!(line.starts_with("VERSION"), "{line}");
    }
}

/// The length of the answer to so many gets, or to one of so many keys.
fn answer_len(n_ends: usize, n_values: usize) -> usize {
    let header = format!("VALUE {} 0 {VALUE_LEN}\r\n", key(0)).len();
    n_values * (header + VALUE_LEN + 2) + n_ends * 5
}

fn round_trips(ways: &[Way<'_>]) {
    const TURNS: usize = 30;
    const EACH: usize = 2000;
    let mut times = vec![Vec::new(); ways.len()];
    let mut sockets: Vec<TcpStream> = ways.iter().map(|way| connect(way.address)).collect();
    let mut answer = vec![0; answer_len(1, 1)];
    for turn in 0..TURNS {
        for (socket, times) in sockets.iter_mut().zip(&mut times) {
            for number in 0..EACH {
                let request = format!("get {}\r\n", key((turn * EACH + number) % KEYS));
                let begin = Instant::now();
                socket.write_all(request.as_bytes()).unwrap();
                socket.read_exact(&mut answer).unwrap();
                times.push(begin.elapsed().as_nanos() as f64 / 1000.0);
            }
        }
    }
    let mut first = 0.0;
    for (way, times) in ways.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let [median, p99] = [50, 99].map(|q| times[times.len() * q / 100]);
        if way.proxy.is_none() {
            first = median;
        }
        let added = median - first;
        println!("  {:16} median {median:6.1} us (+{added:.1}), p99 {p99:6.1} us", way.name);
    }
}

/// Sends requests on 40 connections in turns, and takes all answers.
fn driven(ways: &[Way<'_>], n_keys: usize, request: impl Fn(&[usize]) -> Vec<u8>) {
    const TURNS: usize = 8;
    const CONNECTIONS: usize = 40;
    let rounds = 64_000 / (CONNECTIONS * n_keys / 10);
    let requests: Vec<Vec<u8>> = (0..1000)
        .map(|place| {
            let numbers: Vec<usize> =
                (0..n_keys).map(|i| (place * 7919 + i * 104_729) % KEYS).collect();
            request(&numbers)
        })
        .collect();
    let n_ends = requests[0].iter().filter(|byte| **byte == b'\n').count();
    let mut answer = vec![0; answer_len(n_ends, n_keys)];
    let mut sockets: Vec<Vec<TcpStream>> =
        ways.iter().map(|way| (0..CONNECTIONS).map(|_| connect(way.address)).collect()).collect();
    let mut figures = vec![[Duration::ZERO; 3]; ways.len()];
    for _ in 0..TURNS {
        for ((way, sockets), figures) in ways.iter().zip(&mut sockets).zip(&mut figures) {
            let proxy = || way.proxy.map_or(Duration::ZERO, Server::cpu);
            let before = [way.memcached.cpu(), proxy()];
            let begin = Instant::now();
            for round in 0..rounds {
                for (i, socket) in sockets.iter_mut().enumerate() {
                    socket
                        .write_all(&requests[(round * CONNECTIONS + i) % requests.len()])
                        .unwrap();
                }
                for socket in sockets.iter_mut() {
                    socket.read_exact(&mut answer).unwrap();
                }
            }
            figures[0] += begin.elapsed();
            // The rows of the end are handed over.
            std::thread::sleep(Duration::from_millis(300));
            figures[1] += way.memcached.cpu() - before[0];
            figures[2] += proxy() - before[1];
        }
    }
    let n_ops = (TURNS * rounds * CONNECTIONS * n_keys) as f64;
    let us = |time: &Duration| time.as_secs_f64() * 1e6 / n_ops;
    let own = us(&figures[0][1]);
    for (way, [wall, memcached, proxy]) in ways.iter().zip(&figures) {
        let (rate, memcached, proxy) = (n_ops / wall.as_secs_f64(), us(memcached), us(proxy));
        print!("  {:16} {rate:8.0} gets/s; memcached {memcached:.3} us a get", way.name);
        if way.proxy.is_some() {
            let share = proxy / own * 100.0;
            let both = (memcached + proxy) / own * 100.0 - 100.0;
            let of_one = 1.0 / proxy;
            print!(", proxy {proxy:.3} us: {share:.0} % of memcached past the proxy");
            print!(
                ", both together {both:+.0} %; {of_one:.2} M gets a second of the proxy's processor"
            );
        }
        println!();
    }
}

/// Opens many connections, and uses each.
fn many(address: &str, proxy: &Server) {
    let (files, _) = larder_host::limits::open_files().unwrap();
    let wanted = 10_000.min(usize::try_from(files).unwrap() / 2 - 100);
    let begin = Instant::now();
    let mut sockets: Vec<TcpStream> = (0..wanted).map(|_| connect(address)).collect();
    let opened = begin.elapsed();
    let mut answer = vec![0; answer_len(1, 1)];
    let begin = Instant::now();
    for (number, socket) in sockets.iter_mut().enumerate() {
        socket.write_all(format!("get {}\r\n", key(number % KEYS)).as_bytes()).unwrap();
    }
    for socket in &mut sockets {
        socket.read_exact(&mut answer).unwrap();
    }
    println!(
        "\n{wanted} connections: opened in {:.1} s, a get on each in {:.2} s, the proxy has {} MiB",
        opened.as_secs_f64(),
        begin.elapsed().as_secs_f64(),
        proxy.memory_mib(),
    );
}
