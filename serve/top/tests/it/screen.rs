//! The view on a terminal: servers that come and go, the keys, and the terminal afterwards.

use std::fs::File;
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use larder_testkit::{Memcached, PATIENCE, Peer, signal, within};
use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};

use crate::load::Load;
use crate::process::environment;
use crate::{Case, MEMCACHED, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (MEMCACHED, "a_server_is_shown_as_it_comes_and_goes", comes_and_goes),
    (MEMCACHED, "keys_change_the_view", keys),
    (MEMCACHED, "a_terminal_that_becomes_narrow_is_drawn_again", resized),
    (NOTHING, "a_signal_ends_the_view_in_order", signalled),
    (NOTHING, "a_view_whose_terminal_is_gone_ends", gone),
    (NOTHING, "keys_work_while_every_server_hangs", hanging),
];

/// A short interval, so that no test waits.
const INTERVAL: Duration = Duration::from_millis(200);

/// A view on a terminal of its own.
struct OnTerminal {
    child: Child,
    pty: Pty,
    written: Receiver<Vec<u8>>,
    emulator: vt100::Parser,
}

impl OnTerminal {
    fn start(addresses: &[&str]) -> Self {
        let (pty, child) = spawn(addresses);
        let mut reader = File::from(pty.as_fd().try_clone_to_owned().unwrap());
        let (sender, written) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // When the last process has closed its end, reading is an error.
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        let size = |size: u16| size.try_into().unwrap();
        Self { child, pty, written, emulator: vt100::Parser::new(size(24), size(100), 0) }
    }

    fn screen(&self) -> String {
        self.emulator.screen().contents()
    }

    /// Waits until the text on the screen fulfils this condition, and returns the text.
    #[track_caller]
    fn until(&mut self, so: impl Fn(&str) -> bool) -> String {
        while !so(&self.screen()) {
            match self.written.recv_timeout(PATIENCE) {
                Ok(bytes) => self.emulator.process(&bytes),
                Err(error) => panic!("{error}:\n{}", self.screen()),
            }
        }
        self.screen()
    }

    fn press(&mut self, keys: &str) {
        self.pty.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end, and checks that the terminal is as it was.
    #[track_caller]
    fn ends(mut self) {
        let code = self.child.wait().unwrap().code();
        assert!(is_cooked(&self.pty));
        while let Ok(bytes) = self.written.recv_timeout(Duration::from_millis(200)) {
            self.emulator.process(&bytes);
        }
        let screen = self.emulator.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{}", screen.contents());
        assert_eq!((code, screen.contents().trim()), (Some(0), ""));
    }
}

/// Starts a view on a new terminal.
fn spawn(addresses: &[&str]) -> (Pty, Child) {
    let (pty, inside) = open().unwrap();
    pty.resize(Size::new(24, 100)).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command = command.args(addresses).envs(environment(INTERVAL)).env_remove("NO_COLOR");
    (pty, command.spawn(inside).unwrap())
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // The view has ended, unless the test has failed.
        let _ = self.child.kill();
    }
}

/// Whether the terminal gathers lines and shows what is typed.
fn is_cooked(pty: &Pty) -> bool {
    let mut state = MaybeUninit::<libc::termios>::uninit();
    // SAFETY: the descriptor is open, and `state` is room for the answer.
    let done = unsafe { libc::tcgetattr(pty.as_raw_fd(), state.as_mut_ptr()) };
    assert_eq!(done, 0);
    // SAFETY: a successful call has filled it.
    let state = unsafe { state.assume_init() };
    state.c_lflag & libc::ICANON != 0 && state.c_lflag & libc::ECHO != 0
}

/// The line of a server.
fn line<'a>(screen: &'a str, server: &str) -> &'a str {
    screen.lines().find(|line| line.starts_with(server)).unwrap_or_default().trim_end()
}

fn comes_and_goes() {
    let [server, stays] = [Memcached::start(), Memcached::start()];
    let (port, address, stay) = (server.port, server.address(), stays.address());
    let mut view = OnTerminal::start(&[&address, &stay]);
    let has = |server: String, state: &'static str| {
        move |screen: &str| line(screen, &server).contains(state)
    };
    view.until(has(address.clone(), " up "));
    drop(server);
    let screen = view.until(has(address.clone(), " down "));
    assert!(line(&screen, &address).ends_with("connection refused"), "{screen}");
    assert!(screen.contains("1 down  1 of 2 up") && screen.contains("down for "), "{screen}");
    assert!(line(&screen, &stay).contains(" up "), "{screen}");
    let _server = Memcached::start_on(&port.to_string());
    view.until(has(address, " up "));
    view.press("q");
    view.ends();
}

fn keys() {
    let [idle, busy] = [Memcached::start(), Memcached::start()];
    let load = Load::on(&busy);
    let (first, second) = (idle.address(), busy.address());
    let mut view = OnTerminal::start(&[&first, &second]);
    view.until(|screen| screen.contains(&format!("── {first} version 1.")));
    view.press("\x1b[B");
    let screen = view.until(|screen| screen.contains("get_hits ") && screen.contains('█'));
    assert!(screen.contains(&format!("── {second} version 1.")), "{screen}");
    view.press("ss");
    let sorted = |screen: &str| {
        let at = |server: &str| screen.lines().position(|line| line.starts_with(server));
        screen.contains("by requests") && at(&second) < at(&first)
    };
    view.until(sorted);
    view.press("+");
    view.until(|screen| screen.contains("every 500ms"));
    view.press("?");
    view.until(|screen| screen.contains("p pauses and goes on"));
    view.press("p");
    view.until(|screen| screen.contains("larder top  paused"));
    view.press("p\x1b");
    load.end();
    view.ends();
}

fn resized() {
    let server = Memcached::start();
    let mut view = OnTerminal::start(&[&server.address()]);
    view.until(|screen| {
        line(screen, &server.address()).contains(" up ") && screen.contains("conns")
    });
    view.pty.resize(Size::new(12, 40)).unwrap();
    view.emulator.screen_mut().set_size(12.try_into().unwrap(), 40.try_into().unwrap());
    let screen = view.until(|screen| !screen.contains("conns") && screen.contains("req/s"));
    assert!(screen.lines().all(|line| line.chars().count() <= 40), "{screen}");
    view.press("\x03");
    view.ends();
}

fn signalled() {
    let mut view = OnTerminal::start(&["/no/such/socket"]);
    view.until(|screen| screen.contains("no such file or directory"));
    signal(view.child.id(), libc::SIGTERM);
    view.ends();
}

fn gone() {
    let (mut pty, mut view) = spawn(&["/no/such/socket"]);
    let mut written = Vec::new();
    while !String::from_utf8_lossy(&written).contains("no such file") {
        let mut bytes = [0; 4096];
        let len = pty.read(&mut bytes).unwrap();
        written.extend_from_slice(&bytes[..len]);
    }
    drop(pty);
    let has_ended = within(PATIENCE, || view.try_wait().unwrap().is_some());
    // Nothing else ends it where this fails.
    let _ = view.kill();
    assert!(has_ended);
}

fn hanging() {
    let hangs = Peer::listening(|client, _| std::mem::forget(client));
    let mut view = OnTerminal::start(&[&format!("127.0.0.1:{}", hangs.port())]);
    view.until(|screen| screen.contains("not asked yet"));
    view.press("-");
    view.until(|screen| screen.contains("every 100ms"));
    view.until(|screen| screen.contains("no answer within 2s"));
    view.press("q");
    view.ends();
}
