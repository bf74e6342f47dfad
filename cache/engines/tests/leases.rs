//! 32 threads of four processes meet one missing key, through one store: one is told to load it. Its process is killed, one
//! other thread takes over once the lease is over, and all the others get what that one fills in.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "how the other processes answer")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use larder_engines::ENGINES;
use larder_host::scratch::ScratchDir;
use larder_store::{Error, Leased, Session, SetOptions, Store, StoreUrl};
use larder_testkit::{PATIENCE, everything_is_required};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

const PROCESSES: usize = 4;
const THREADS: usize = 8;

/// The time of the first lease: several steps of the slowest clock, which is memcached's.
const TIME: Duration = Duration::from_secs(4);

const KEY: &[u8] = b"larder-test:leases:wanted";
const VALUE: &[u8] = b"what the second one has loaded";

/// The URL that another process opens.
const URL: &str = "LARDER_LEASES_URL";

fn main() -> ExitCode {
    if let Ok(url) = std::env::var(URL) {
        return work(&url);
    }
    let trials =
        [("mmap:", of_file as fn() -> Opened), ("memcached:", of_memcached), ("redis:", of_redis)];
    let trials =
        trials.into_iter().filter(|(url, _)| ENGINES.find(url.trim_end_matches(':')).is_ok());
    let trial = |(url, open): (&str, fn() -> Opened)| {
        let name = format!("of_threads_in_many_processes_one_loads_and_one_takes_over::{url}");
        Trial::ignorable_test(name, move || match open() {
            Ok(place) => herd(&place).map(|()| Completion::Completed),
            Err(Error::Unavailable { what, .. }) if !everything_is_required() => {
                Ok(Completion::ignored_with(format!("cannot run here: {what}")))
            }
            Err(error) => Err(error.to_string().into()),
        })
    };
    libtest_mimic::run(&Arguments::from_args(), trials.map(trial).collect()).exit_code()
}

type Opened = larder_store::Result<Place>;

/// A store that all processes open by the same URL, for as long as this lives.
struct Place {
    url: String,
    store: Arc<dyn Store>,
    _folder: Option<ScratchDir>,
}

fn open(url: &str) -> larder_store::Result<Arc<dyn Store>> {
    ENGINES.open(&StoreUrl::parse(url)?)
}

fn of_file() -> Opened {
    let folder = ScratchDir::create("leases")?;
    let url = format!("mmap:{}?size=1m", folder.path().join("cache").display());
    Ok(Place { store: open(&url)?, url, _folder: Some(folder) })
}

fn of_memcached() -> Opened {
    of_server("memcached")
}

fn of_redis() -> Opened {
    of_server("redis")
}

fn of_server(scheme: &str) -> Opened {
    let store = open(&format!("{scheme}:"))?;
    let nodes = store.info().settings.get("nodes").cloned().unwrap_or_default();
    Ok(Place { url: format!("{scheme}://{nodes}"), store, _folder: None })
}

/// Nanoseconds of a clock that all processes share.
fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes a time to a place for one.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// The work of another process: each of its threads asks until it has the value, and tells what it was told.
fn work(url: &str) -> ExitCode {
    let store = open(url).unwrap();
    println!("ready");
    assert_eq!(heard(), "go");
    let may_fill = Arc::new((Mutex::new(false), Condvar::new()));
    let says = Arc::clone(&may_fill);
    thread::spawn(move || {
        // Only one of the processes is told so.
        if heard() == "fill" {
            *says.0.lock().unwrap() = true;
            says.1.notify_all();
        }
    });
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (store, may_fill) = (&store, &may_fill);
            scope.spawn(move || ask(&mut *store.session().unwrap(), number, may_fill));
        }
    });
    ExitCode::SUCCESS
}

/// The next word from the first process; empty once that has ended.
fn heard() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim().to_owned()
}

fn ask(session: &mut dyn Session, number: usize, may_fill: &(Mutex<bool>, Condvar)) {
    let (mut value, mut has_waited) = (Vec::new(), false);
    loop {
        let asked = now();
        let leases = session.leases().unwrap();
        match leases.get_or_lease(KEY, &mut value, TIME).unwrap() {
            Leased::Hit(_) => {
                assert_eq!(value, VALUE);
                println!("hit {number}");
                return;
            }
            Leased::Wait { .. } => {
                if !has_waited {
                    println!("wait {number}");
                }
                has_waited = true;
                thread::sleep(Duration::from_millis(10));
            }
            Leased::Load { token, .. } => {
                println!("load {asked} {}", now());
                let mut may = may_fill.0.lock().unwrap();
                while !*may {
                    may = may_fill.1.wait(may).unwrap();
                }
                let filled = leases.fill(KEY, VALUE, &SetOptions::default(), &token).unwrap();
                println!("filled {}", filled.is_stored());
            }
        }
    }
}

/// The other processes, and the lines that they say.
struct Herd {
    processes: Vec<(Child, ChildStdin)>,
    lines: Receiver<(usize, String)>,
}

impl Herd {
    fn start(url: &str) -> Self {
        let (say, lines) = mpsc::channel();
        let processes = (0..PROCESSES).map(|number| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.env(URL, url).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut process = command.spawn().unwrap();
            let (stdin, stdout) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
            let say = say.clone();
            thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    let _ = say.send((number, line));
                }
            });
            (process, stdin)
        });
        Self { processes: processes.collect(), lines }
    }

    fn say(&mut self, to: usize, word: &str) {
        writeln!(self.processes[to].1, "{word}").unwrap();
    }

    /// The next line: who says it, its first word, and the rest.
    fn next(&self) -> Result<(usize, String, String), Failed> {
        let (who, line) = self.lines.recv_timeout(PATIENCE).map_err(|_| "nobody says anything")?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        Ok((who, word.to_owned(), rest.to_owned()))
    }
}

impl Drop for Herd {
    fn drop(&mut self) {
        for (process, _) in &mut self.processes {
            // One that has ended by itself is not killed.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn herd(place: &Place) -> Result<(), Failed> {
    let mut herd = Herd::start(&place.url);
    for _ in 0..PROCESSES {
        assert_eq!(herd.next()?.1, "ready");
    }
    (0..PROCESSES).for_each(|process| herd.say(process, "go"));
    let (mut first, mut waiting) = (None, 0);
    while first.is_none() || waiting < PROCESSES * THREADS - 1 {
        match herd.next()? {
            (who, word, times) if word == "load" && first.is_none() => first = Some((who, times)),
            (_, word, _) if word == "wait" => waiting += 1,
            other => return Err(format!("of all who miss the key one says {other:?}").into()),
        }
    }
    let (loader, times) = first.ok_or("nobody is told to load")?;
    herd.processes[loader].0.kill()?;
    let (second, word, later) = herd.next()?;
    assert_eq!(word, "load", "who takes over");
    assert_ne!(second, loader);
    let time = |times: &str, place| times.split(' ').nth(place).unwrap().parse::<u64>().unwrap();
    let lasted = Duration::from_nanos(time(&later, 1).saturating_sub(time(&times, 0)));
    let least = TIME.saturating_sub(2 * place.store.capabilities().ttl_resolution);
    assert!(lasted >= least, "a lease of {TIME:?} was over after {lasted:?}");
    herd.say(second, "fill");
    let (mut filled, mut hits) = (0, 0);
    while hits < (PROCESSES - 1) * THREADS {
        match herd.next()? {
            (who, word, rest) if word == "filled" && who == second && rest == "true" => filled += 1,
            (_, word, _) if word == "hit" => hits += 1,
            // It was told so before the kill, and says it only now.
            (_, word, _) if word == "wait" => {}
            other => return Err(format!("after the second load one says {other:?}").into()),
        }
    }
    assert_eq!(filled, 1);
    for (number, (process, _)) in herd.processes.iter_mut().enumerate() {
        assert_eq!(process.wait()?.success(), number != loader, "process {number}");
    }
    Ok(())
}
