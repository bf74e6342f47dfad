//! The live view: takes reports and keys, and draws.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    is_raw_mode_enabled,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;

use crate::address::Address;
use crate::keys::Action;
use crate::poll::{PATIENCE, Pollers};
use crate::state::View;
use crate::theme::Theme;
use crate::{Error, Result, view};

/// The longest wait for a key before reports are taken.
const TICK: Duration = Duration::from_millis(50);

/// Draws the servers until the user ends it.
pub(crate) fn run(addresses: Vec<Address>, interval: Duration, theme: Theme) -> Result<()> {
    let shown = addresses.iter().map(ToString::to_string).collect();
    let mut view = View::new(shown, interval, Instant::now());
    let must_end = Arc::new(AtomicBool::new(false));
    // SIGHUP ends the process at once, also where its parent ignores it. Its terminal is gone, and crossterm would read from it
    // without end.
    flag::register_conditional_default(SIGHUP, Arc::new(AtomicBool::new(true)))
        .map_err(Error::Terminal)?;
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, Arc::clone(&must_end)).map_err(Error::Terminal)?;
    }
    let pollers = Pollers::start(addresses, interval)?;
    let mut screen = Screen::open().map_err(Error::Terminal)?;
    let mut is_new = true;
    while !must_end.load(Ordering::Relaxed) {
        pollers.check()?;
        if is_new {
            screen
                .terminal
                .draw(|frame| view::draw(frame, &view, theme))
                .map_err(Error::Terminal)?;
        }
        is_new = false;
        match next_event().map_err(Error::Terminal)? {
            Some(Event::Key(key)) if key.kind != KeyEventKind::Release => match view.press(key) {
                Some(Action::End) => break,
                Some(Action::Pace) => {
                    // The silence so far belongs to the older interval.
                    let now = Instant::now();
                    view.live.iter_mut().for_each(|server| server.reported_at = now);
                    pollers.set_interval(view.interval);
                    is_new = true;
                }
                Some(Action::Suspend) => {
                    screen.suspend().map_err(Error::Terminal)?;
                    is_new = true;
                }
                Some(Action::Draw) => is_new = true,
                None => {}
            },
            Some(Event::Resize(..)) => is_new = true,
            _ => {}
        }
        for report in pollers.reports.try_iter() {
            view.live[report.server].apply(report.at, report.outcome);
            is_new |= view.paused.is_none();
        }
        is_new |= view.mark_overdue(Instant::now(), view.interval + 2 * PATIENCE);
    }
    Ok(())
}

/// The next event of the terminal, if there is one soon.
fn next_event() -> io::Result<Option<Event>> {
    Ok(if event::poll(TICK)? { Some(event::read()?) } else { None })
}

/// The terminal while the view has it. It is given back however this ends: a hook does so before a panic's message.
struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    fn open() -> io::Result<Self> {
        Ok(Self { terminal: ratatui::try_init()? })
    }

    /// Gives the terminal back, stops this process, and takes the terminal again when the shell lets it go on.
    fn suspend(&mut self) -> io::Result<()> {
        self.terminal.show_cursor()?;
        disable_raw_mode()?;
        execute!(io::stdout(), LeaveAlternateScreen)?;
        emulate_default_handler(SIGTSTP)?;
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen)?;
        self.terminal.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // After a panic the hook has given the terminal back. A second time would move the cursor onto its message.
        if !is_raw_mode_enabled().unwrap_or(true) {
            return;
        }
        // If the terminal is gone, there is nowhere to report a failure.
        let _ = self.terminal.show_cursor();
        let _ = ratatui::try_restore();
    }
}
