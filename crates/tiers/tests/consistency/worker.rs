//! A process of a host: it reads and writes a few keys of its stack, and writes down each operation.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_engines::ENGINES;
use larder_store::{Result, Session, SetOptions, StoreUrl};
use larder_testkit::Random;

use super::history::Event;

/// The URL of the stack, and the file for the history.
const WORK: [&str; 2] = ["LARDER_CONSISTENCY_URL", "LARDER_CONSISTENCY_HISTORY"];

/// Few keys, so that processes meet.
const KEYS: usize = 4;

/// The pause after each operation: the history of an hour has to fit into memory.
const PAUSE: Duration = Duration::from_micros(500);

/// The longest time of a process that nobody kills.
const LONGEST: Duration = Duration::from_hours(2);

/// Does the work of another process, if this is one.
pub(crate) fn work_if_asked() -> Option<ExitCode> {
    let [url, history] = WORK.map(|name| std::env::var(name).ok());
    let (url, mut history) = (url?, File::create(history?).unwrap());
    let store = ENGINES.open(&StoreUrl::parse(&url).unwrap()).unwrap();
    let mut session = store.session().unwrap();
    let mut draw = Random::new(std::process::id().into());
    let begun = Instant::now();
    for n in 0.. {
        if begun.elapsed() > LONGEST {
            break;
        }
        let write = u64::from(std::process::id()) << 32 | n;
        for event in operate(&mut *session, &mut draw, write, &mut history) {
            tell(&mut history, &event);
        }
        sleep(PAUSE);
    }
    Some(ExitCode::SUCCESS)
}

/// One line in one call of the system, which a kill cannot take back.
fn tell(history: &mut File, event: &Event) {
    history.write_all(format!("{event}\n").as_bytes()).unwrap();
}

/// One operation, and what it tells at its end.
fn operate(
    session: &mut dyn Session,
    draw: &mut Random,
    write: u64,
    history: &mut File,
) -> Vec<Event> {
    let key = format!("k{}", draw.below(KEYS));
    let bytes = key.as_bytes();
    let kind = draw.below(20);
    let begun = now();
    let value = format!("v{write}");
    let begins = |value: Option<&String>| Event::Begun {
        write,
        key: key.clone(),
        value: value.cloned(),
        at: begun,
    };
    let is_done = match kind {
        0 => {
            tell(history, &begins(Some(&value)));
            is_done(&session.set(bytes, value.as_bytes(), &SetOptions::default()))
        }
        1 => {
            tell(history, &begins(None));
            is_done(&session.delete(bytes))
        }
        2 => {
            tell(history, &begins(None));
            let leases = session.leases().expect("the lowest tier has leases");
            is_done(&leases.expire(bytes, Some(Duration::from_mins(1))))
        }
        3..6 => {
            let keys: Vec<String> = (0..KEYS).map(|key| format!("k{key}")).collect();
            let asked: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
            let mut found = Vec::new();
            // A read that fails tells nothing.
            let _ = session.get_many(&asked, &mut |i, value, meta| {
                if !meta.stale {
                    found.push((keys[i].clone(), String::from_utf8_lossy(value).into_owned()));
                }
            });
            let ended = now();
            let read = |(key, value)| Event::Read { key, value, begun, ended };
            return found.into_iter().map(read).collect();
        }
        _ => {
            let mut value = Vec::new();
            let found = session.get(bytes, &mut value);
            let ended = now();
            let is_fresh = found.ok().flatten().is_some_and(|meta| !meta.stale);
            let value = String::from_utf8_lossy(&value).into_owned();
            return is_fresh
                .then_some(Event::Read { key, value, begun, ended })
                .into_iter()
                .collect();
        }
    };
    vec![Event::Ended { write, is_done, at: now() }]
}

fn is_done<T>(result: &Result<T>) -> bool {
    result.is_ok()
}

/// Nanoseconds of a clock that all processes share.
fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes a time to a place for one.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Another process at work. Dropping it kills it.
pub(crate) struct Worker(Child);

impl Worker {
    pub(crate) fn start(url: &str, history: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(WORK[0], url).env(WORK[1], history).stdin(Stdio::null());
        Self(command.spawn().unwrap())
    }

    /// Whether it still works.
    pub(crate) fn works(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has ended is not killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
