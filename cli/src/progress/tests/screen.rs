//! Tests of the bytes that draw a view on a terminal.

use super::super::screen::Screen;
use super::super::terminal_line::{Line, TerminalAbilities};
use super::{NARROW, WIDE};

/// A terminal with some lines on it, and a view below them.
struct Terminal {
    screen: Screen,
    emulator: vt100::Parser,
    look: TerminalAbilities,
}

impl Terminal {
    fn new(look: TerminalAbilities) -> Self {
        let size = |size: usize| u16::try_from(size).unwrap().try_into().unwrap();
        let mut emulator = vt100::Parser::new(size(look.rows), size(look.columns), 100);
        emulator.process(b"$ larder compare\r\n");
        Self { screen: Screen::default(), emulator, look }
    }

    fn draw(&mut self, lines: &[&str]) -> Vec<u8> {
        let lines: Vec<Line> = lines.iter().map(|line| Line::from(*line)).collect();
        let mut written = Vec::new();
        self.screen.draw(&mut written, &lines, self.look).unwrap();
        self.emulator.process(&written);
        written
    }

    fn shown(&self) -> Vec<String> {
        let text = self.emulator.screen().contents();
        text.lines().map(|line| line.trim_end().to_owned()).collect()
    }
}

#[test]
fn a_view_takes_the_place_of_the_one_before_and_leaves_nothing() {
    let mut terminal = Terminal::new(NARROW);
    for lines in [&["one", "two", "three"][..], &["one"], &["1", "2", "3", "4"], &[]] {
        terminal.draw(lines);
        assert_eq!(terminal.shown(), [&["$ larder compare"], lines].concat());
        let place = terminal.emulator.screen().cursor_position();
        assert_eq!(place, (u16::try_from(lines.len()).unwrap() + 1, 0));
        assert!(!terminal.emulator.screen().hide_cursor());
    }
    terminal.draw(&["one", "two"]);
    let mut written = Vec::new();
    terminal.screen.clear(&mut written, NARROW).unwrap();
    terminal.emulator.process(&written);
    assert_eq!(terminal.shown(), ["$ larder compare"]);
    assert_eq!(terminal.emulator.screen().cursor_position(), (1, 0));
}

#[test]
fn at_the_bottom_of_the_screen_it_scrolls_once() {
    let mut terminal = Terminal::new(TerminalAbilities { rows: 4, ..NARROW });
    terminal.emulator.process(b"a\r\nb\r\n");
    for view in [["1", "2"], ["3", "4"], ["5", "6"]] {
        terminal.draw(&view);
        assert_eq!(terminal.shown(), ["b", view[0], view[1]]);
    }
}

#[test]
fn unchanged_rows_are_not_written_and_no_row_is_blanked_first() {
    let mut terminal = Terminal::new(NARROW);
    let rows = |last| ["the first row", "the second row", last];
    terminal.draw(&rows("12.0 k/s"));
    assert_eq!(terminal.draw(&rows("12.0 k/s")), b"");

    let mut eye = Terminal::new(NARROW);
    eye.draw(&rows("12.0 k/s"));
    for byte in terminal.draw(&rows("9 k/s")) {
        eye.emulator.process(&[byte]);
        assert_eq!(eye.shown()[..3], ["$ larder compare", "the first row", "the second row"]);
    }
    assert_eq!(eye.shown()[3], "9 k/s");
}

#[test]
fn a_terminal_that_became_narrower_has_wrapped_the_view() {
    let mut screen = Screen::default();
    let (line, mut written) = (Line::from("0123456789".repeat(7).as_str()), Vec::new());
    screen.draw(&mut written, &[line.clone(), line.clone()], WIDE).unwrap();
    written.clear();
    screen.draw(&mut written, &[line], NARROW).unwrap();
    // 70 characters are two rows of 40.
    assert!(written.starts_with(b"\r\x1b[4A0123"), "{:?}", String::from_utf8_lossy(&written));
}
