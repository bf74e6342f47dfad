//! The view on the terminal, and the thread that keeps its time running.

use std::io::stderr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use larder_bench::Event;
use signal_hook::consts::SIGCONT;

use super::board::Board;
use super::screen::Screen;
use super::terminal_line::TerminalAbilities;
use super::view::view;

/// The interval between redraws without events.
const TICK: Duration = Duration::from_secs(1);

/// A view that is redrawn until it is dropped, and is then cleared.
#[derive(Debug)]
pub(super) struct Live {
    shared: Arc<Mutex<Shared>>,
    /// Dropping it ends the thread.
    alive: Option<Sender<()>>,
    ticker: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    board: Board,
    screen: Screen,
    look: TerminalAbilities,
    began: Instant,
    /// The program was stopped and continues: a shell has written below the view.
    continued: Arc<AtomicBool>,
}

impl Live {
    pub(super) fn start(look: TerminalAbilities) -> Self {
        let (board, screen) = (Board::default(), Screen::default());
        let continued = Arc::new(AtomicBool::new(false));
        // Without this handler, a continued view is drawn over the shell's output, with no other harm.
        let _ = signal_hook::flag::register(SIGCONT, Arc::clone(&continued));
        let began = Instant::now();
        let shared = Arc::new(Mutex::new(Shared { board, screen, look, began, continued }));
        let (alive, ended) = channel();
        let ticking = Arc::clone(&shared);
        let tick = move || {
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                ticking.lock().unwrap_or_else(PoisonError::into_inner).draw();
            }
        };
        // Without the thread, the time only stands still between two events.
        let ticker = std::thread::Builder::new().name("progress".into()).spawn(tick).ok();
        Self { shared, alive: Some(alive), ticker }
    }

    pub(super) fn note(&self, event: Event<'_>) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let now = shared.began.elapsed();
        shared.board.note(event, now);
        shared.draw();
    }
}

impl Shared {
    /// Redraws the changes. A vanished terminal does not stop the measurement.
    fn draw(&mut self) {
        self.look = self.look.resized();
        let lines = view(&self.board, self.look, self.began.elapsed());
        // Asked last: a stop while the view is made is still seen.
        if self.continued.swap(false, Ordering::Relaxed) {
            self.screen = Screen::default();
        }
        let _ = self.screen.draw(&mut stderr().lock(), &lines, self.look);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.alive.take();
        if let Some(ticker) = self.ticker.take() {
            let _ = ticker.join();
        }
        // The message of a panic stands below the view, and would be cleared with it.
        if std::thread::panicking() {
            return;
        }
        let shared = &mut *self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.look = shared.look.resized();
        let _ = shared.screen.clear(&mut stderr().lock(), shared.look);
    }
}
