//! The start of a program as a relay, and the protocol between the two processes.
//!
//! The relay gets its servers as arguments, one each: `tcp:192.0.2.1:11211,[::1]:11211` or `unix:/path`. It answers on
//! standard output with one line, `ports rr 40001 40002`, or `failed` and the reason. The line has its scheduling (`rr`
//! before all others, or `other`) and a port for each server. On standard input it then reads orders, `hold DELAY HELD
//! RATE`, the first two in nanoseconds. A new connection waits for DELAY more, and every chunk on its way to a server
//! is held for HELD. Answers pass at no more than RATE bytes a second on each connection; 0 is any number. The relay
//! ends when its standard input ends.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::{AtomicBool, Ordering};

use super::serve::Server;
use super::system;
use crate::destination::Destination;

/// The first argument of a relay process; users do not type it.
pub(super) const ROLE: &str = "__larder-relay";

/// The relay's scheduling classes, by the system's names.
const REALTIME: &str = "rr";
const ORDINARY: &str = "other";

/// Whether this program calls [`serve_if_asked`], so that it may be started as a relay.
static CAN_BE_PROXY: AtomicBool = AtomicBool::new(false);

/// Serves as a relay if this program was started as a relay, and then never returns.
///
/// A program that may start a [`DelayProxy`](super::DelayProxy) calls this first thing in its `main`, before it looks at its
/// arguments.
#[expect(clippy::exit, reason = "the program was started for this alone")]
pub fn serve_if_asked() {
    CAN_BE_PROXY.store(true, Ordering::Relaxed);
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|role| role == ROLE) {
        let done = serve(&arguments.collect::<Vec<_>>());
        std::process::exit(i32::from(done.is_err()));
    }
}

/// An error where this program would read the role as an ordinary argument.
pub(super) fn can_be_proxy() -> io::Result<()> {
    if CAN_BE_PROXY.load(Ordering::Relaxed) {
        return Ok(());
    }
    let what =
        "this program cannot be a relay: it does not call delay_proxy::serve_if_asked in its main";
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

fn serve(arguments: &[OsString]) -> io::Result<()> {
    // Otherwise its name is `exe`, after the path of its start. A failure here changes nothing else.
    let _ = std::fs::write("/proc/self/comm", "larder-relay");
    let server = arguments
        .iter()
        .map(|argument| {
            read_argument(argument).ok_or_else(|| io::Error::other("no such destination"))
        })
        .collect::<io::Result<Vec<_>>>()
        .and_then(Server::new);
    let mut answers = io::stdout();
    match server {
        Ok((server, ports)) => {
            let class = if system::run_before_others() { REALTIME } else { ORDINARY };
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            writeln!(answers, "ports {class} {}", ports.join(" "))?;
            server.run()
        }
        Err(error) => {
            writeln!(answers, "failed {error}")?;
            Err(error)
        }
    }
}

/// Whether the relay runs before all others, and its addresses, from its line on standard output.
pub(super) fn read_answer(line: &str) -> io::Result<(bool, Vec<SocketAddr>)> {
    let answer = line.strip_suffix('\n').unwrap_or_default();
    if let Some(reason) = answer.strip_prefix("failed ") {
        return Err(io::Error::other(reason));
    }
    let answer = || {
        let (class, ports) = answer.strip_prefix("ports ")?.split_once(' ')?;
        let address = |port: &str| Some((Ipv4Addr::LOCALHOST, port.parse().ok()?).into());
        let addresses = ports.split(' ').map(address).collect::<Option<Vec<SocketAddr>>>()?;
        [REALTIME, ORDINARY].contains(&class).then_some((class == REALTIME, addresses))
    };
    answer().ok_or_else(|| io::Error::other("it ended at once"))
}

pub(super) fn to_argument(destination: &Destination) -> OsString {
    match destination {
        Destination::Tcp(_) => format!("tcp:{destination}").into(),
        Destination::Unix(path) => [OsStr::new("unix:"), path.as_os_str()].into_iter().collect(),
    }
}

fn read_argument(argument: &OsStr) -> Option<Destination> {
    let argument = argument.as_bytes();
    if let Some(path) = argument.strip_prefix(b"unix:") {
        return Some(Destination::Unix(OsString::from_vec(path.into()).into()));
    }
    let addresses = str::from_utf8(argument.strip_prefix(b"tcp:")?).ok()?.split(',');
    addresses.map(|address| address.parse().ok()).collect::<Option<_>>().map(Destination::Tcp)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::delay_proxy::order::{Order, read_order, to_order};

    #[test]
    fn messages_between_the_processes_are_read_as_written() {
        for destination in [
            Destination::Tcp(vec!["192.0.2.1:11211".parse().unwrap()]),
            Destination::Tcp(vec!["[::1]:5".parse().unwrap(), "127.0.0.1:5".parse().unwrap()]),
            Destination::Unix(OsString::from_vec(b"/tmp/\xff socket".to_vec()).into()),
        ] {
            assert_eq!(read_argument(&to_argument(&destination)), Some(destination));
        }
        let (delay, held) = (Duration::from_millis(2), Duration::from_nanos(1_934_567));
        let order = Order { delay, held, rate: 20 << 20 };
        assert_eq!(read_order(to_order(order).trim_end()), Some(order));
        assert_eq!(read_order("hold 1 2"), None);
        let addresses = ["127.0.0.1:40001", "127.0.0.1:2"].map(|text| text.parse().unwrap());
        for (class, is_realtime) in [("rr", true), ("other", false)] {
            let answer = read_answer(&format!("ports {class} 40001 2\n")).unwrap();
            assert_eq!(answer, (is_realtime, addresses.to_vec()));
        }
    }

    #[test]
    fn why_there_is_no_relay_is_told() {
        for (line, reason) in [
            ("", "it ended at once"),
            ("ports 40001 2\n", "it ended at once"),
            ("failed no room\n", "no room"),
        ] {
            assert_eq!(read_answer(line).unwrap_err().to_string(), reason);
        }
    }

    #[test]
    fn a_program_that_does_not_ask_for_its_role_is_not_started() {
        // The program of these tests does not call `delay_proxy::serve_if_asked`.
        let error = can_be_proxy().unwrap_err().to_string();
        assert!(error.contains("does not call delay_proxy::serve_if_asked"), "{error}");
    }
}
