//! Draws a view over the one before, in one write: nothing is blanked first, so nothing flickers.
//!
//! The cursor stays visible and below the view, and no mode of the terminal is changed: a process that is killed leaves a
//! prompt where a prompt belongs, and has nothing to put back.

use std::io::{self, Write};

use super::look::{Line, Look};

/// Erases from the cursor to the end of its line.
const REST_OF_LINE: &str = "\x1b[K";
/// Erases from the cursor to the end of the screen.
const REST_OF_SCREEN: &str = "\x1b[J";

/// The lines on the screen.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// The width of each line that was drawn.
    drawn: Vec<usize>,
    /// The last bytes of it, to leave alone what has not changed.
    last: (Option<Look>, String),
}

impl Screen {
    /// Draws these lines where the ones before are.
    pub(super) fn draw(
        &mut self,
        out: &mut dyn Write,
        lines: &[Line],
        look: Look,
    ) -> io::Result<()> {
        // A terminal that is full to its last column behaves in its own way.
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

    /// Takes everything away.
    pub(super) fn clear(&mut self, out: &mut dyn Write, look: Look) -> io::Result<()> {
        if self.drawn.is_empty() {
            return Ok(());
        }
        let home = self.home(look);
        *self = Self::default();
        out.write_all(format!("{home}{REST_OF_SCREEN}").as_bytes())?;
        out.flush()
    }

    /// Brings the cursor to the first line. A terminal that has become narrower has wrapped the lines.
    fn home(&self, look: Look) -> String {
        let rows = |width: &usize| width.div_ceil(look.columns.max(1)).max(1);
        match self.drawn.iter().map(rows).sum::<usize>() {
            0 => "\r".into(),
            up => format!("\r\x1b[{up}A"),
        }
    }
}
