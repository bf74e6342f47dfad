//! Draws a view over the previous one, in one write: nothing is blanked first, so nothing flickers.
//!
//! The cursor stays visible and below the view, and no mode of the terminal is changed. After a kill the prompt is in
//! its usual place, and nothing needs to be restored.

use std::io::{self, Write};

use super::terminal_line::{Line, TerminalAbilities};

/// Erases from the cursor to the end of its line.
const REST_OF_LINE: &str = "\x1b[K";
/// Erases from the cursor to the end of the screen.
const REST_OF_SCREEN: &str = "\x1b[J";

/// The lines on the screen.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// The width of each drawn line.
    drawn: Vec<usize>,
    /// The last look and text, so that an unchanged view is not written again.
    last: (Option<TerminalAbilities>, String),
}

impl Screen {
    /// Draws these lines in the place of the previous ones.
    pub(super) fn draw(
        &mut self,
        out: &mut dyn Write,
        lines: &[Line],
        look: TerminalAbilities,
    ) -> io::Result<()> {
        // Terminals differ in their behaviour at a full last column.
        let columns = look.columns.saturating_sub(1);
        let mut text = String::new();
        for line in lines {
            text.extend([&line.text(look, columns), REST_OF_LINE, "\r\n"]);
        }
        if self.last == (Some(look), text.clone()) {
            return Ok(());
        }
        let home = self.home(look);
        self.drawn = lines.iter().map(|line| line.width().min(columns)).collect();
        out.write_all(format!("{home}{text}{REST_OF_SCREEN}").as_bytes())?;
        self.last = (Some(look), text);
        out.flush()
    }

    /// Clears the whole view.
    pub(super) fn clear(&mut self, out: &mut dyn Write, look: TerminalAbilities) -> io::Result<()> {
        if self.drawn.is_empty() {
            return Ok(());
        }
        let home = self.home(look);
        *self = Self::default();
        out.write_all(format!("{home}{REST_OF_SCREEN}").as_bytes())?;
        out.flush()
    }

    /// Moves the cursor to the first line. A narrower terminal has wrapped the lines.
    fn home(&self, look: TerminalAbilities) -> String {
        let rows = |width: &usize| width.div_ceil(look.columns.max(1)).max(1);
        match self.drawn.iter().map(rows).sum::<usize>() {
            0 => "\r".into(),
            up => format!("\r\x1b[{up}A"),
        }
    }
}
