//! The table as text, for the screen and for standard output alike: the columns that fit, and their cells.

use crate::columns::{COLUMNS, Column, Row};

/// The shortest column of servers to which a narrow terminal cuts their addresses.
const SHORTEST_NAME: usize = 15;

/// A terminal with fewer columns has a single blank between the table's columns.
const NARROW: usize = 60;

/// The sign in place of the signs that were cut.
const CUT: char = '~';

/// The columns that fit, with their widths.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static Column, usize)>,
    gap: &'static str,
    /// The width of a line; `None` is without a limit.
    width: Option<usize>,
}

impl Table {
    /// Chooses the columns for these rows; a width of `None` takes all.
    pub(crate) fn fit(rows: &[Row], width: Option<usize>) -> Self {
        let gap = if width.is_some_and(|width| width < NARROW) { " " } else { "  " };
        let widest = |column: &'static Column| {
            let cells = rows.iter().filter(|row| row.reason.is_none() || is_kept(column));
            let cells = cells.map(|row| (column.cell)(row).chars().count());
            cells.chain([column.title.len(), column.width]).max().unwrap_or(0)
        };
        let needed = COLUMNS.iter().filter(|column| column.is_needed(rows));
        let mut columns: Vec<_> = needed.map(|column| (column, widest(column))).collect();
        if let Some(width) = width {
            let name = columns[0].1;
            columns[0].1 = name.min(SHORTEST_NAME.max(width / 4)).min(width);
            let left = keep(&mut columns, gap.len(), width);
            columns[0].1 = name.min(columns[0].1 + left);
        }
        Self { columns, gap, width }
    }

    /// The titles, each as wide as its column, with the column that it names.
    pub(crate) fn titles(&self) -> impl Iterator<Item = (&'static Column, String)> {
        let title = |(column, width): &(&'static Column, usize)| {
            (*column, aligned(column, column.title, *width))
        };
        self.columns.iter().map(title)
    }

    /// The blanks between two columns.
    pub(crate) fn gap(&self) -> &'static str {
        self.gap
    }

    /// The line of titles.
    pub(crate) fn header(&self) -> String {
        self.joined(self.titles().map(|(_, title)| title))
    }

    /// The line of a row. The reason of a server that is down takes the place of its figures.
    pub(crate) fn line(&self, row: &Row) -> String {
        let cell = |(column, width): &(&'static Column, usize)| {
            aligned(column, &cut_middle(&(column.cell)(row), *width), *width)
        };
        match &row.reason {
            None => self.joined(self.columns.iter().map(cell)),
            Some(reason) => {
                let kept = self.columns.iter().filter(|(column, _)| is_kept(column)).map(cell);
                self.joined(kept.chain([reason.clone()]))
            }
        }
    }

    fn joined(&self, cells: impl Iterator<Item = String>) -> String {
        let line = cells.collect::<Vec<_>>().join(self.gap);
        let line = line.trim_end();
        self.width.map_or_else(|| line.to_owned(), |width| cut_end(line, width))
    }
}

/// Whether a column also has cells for a server that is down.
fn is_kept(column: &Column) -> bool {
    matches!(column.title, "server" | "state")
}

/// Keeps the columns of the lowest ranks that fit, in their places, and returns the width that is left.
fn keep(columns: &mut Vec<(&'static Column, usize)>, gap: usize, width: usize) -> usize {
    let mut ranks: Vec<_> =
        columns.iter().map(|(column, width)| (column.rank, *width + gap)).collect();
    ranks.sort_unstable();
    // The last column has no gap behind it.
    let mut left = width + gap;
    ranks.retain(|(_, width)| {
        let fits = *width <= left;
        left -= if fits { *width } else { 0 };
        fits
    });
    columns.retain(|(column, _)| ranks.iter().any(|(rank, _)| *rank == column.rank));
    left
}

fn aligned(column: &Column, text: &str, width: usize) -> String {
    if column.is_text() { format!("{text:width$}") } else { format!("{text:>width$}") }
}

/// The text within a width. Addresses of one cluster differ at both ends, so the middle is cut.
fn cut_middle(text: &str, width: usize) -> String {
    let len = text.chars().count();
    if len <= width {
        return text.to_owned();
    }
    let tail = width / 2;
    let head = width.saturating_sub(tail + 1);
    let signs = text.chars();
    signs.clone().take(head).chain([CUT]).chain(signs.skip(len - tail)).take(width).collect()
}

/// The text within a width, cut at its end.
pub(crate) fn cut_end(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain([CUT]).take(width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Figures;

    fn up(name: &str) -> Row {
        let figures = Figures {
            gets: Some(900.0),
            sets: Some(100.0),
            hits: Some(450.0),
            misses: Some(450.0),
            connections: Some(10.0),
            max_connections: Some(1024.0),
            bytes: Some(1024.0),
            limit_bytes: Some(67_108_864.0),
            ..Figures::default()
        };
        let (state, version) = ("up".to_owned(), "1.6.18".to_owned());
        Row { name: name.to_owned(), state, reason: None, version, figures }
    }

    fn down(name: &str) -> Row {
        let reason = Some("connection refused, and more words about it".to_owned());
        Row { state: "down".to_owned(), reason, ..up(name) }
    }

    fn lines(rows: &[Row], width: Option<usize>) -> Vec<String> {
        let table = Table::fit(rows, width);
        [table.header()].into_iter().chain(rows.iter().map(|row| table.line(row))).collect()
    }

    #[test]
    fn without_a_limit_every_column_is_there() {
        let lines = lines(&[up("10.0.0.2:11211"), down("b:1")], None);
        let titles: Vec<_> = lines[0].split_whitespace().collect();
        let known: Vec<_> =
            COLUMNS.iter().map(|it| it.title).filter(|title| *title != "p99").collect();
        assert_eq!(titles, known);
        let cells: Vec<_> = lines[1].split_whitespace().collect();
        let wanted = [
            "10.0.0.2:11211",
            "up",
            "1000",
            "900",
            "100",
            "-",
            "50.0%",
            "10/1024",
            "-",
            "1K/64M",
            "<0.1%",
            "-",
            "-",
            "-",
            "-",
            "-",
            "1.6.18",
        ];
        assert_eq!(cells, wanted);
        assert_eq!(lines[2], "b:1             down   connection refused, and more words about it");
    }

    #[test]
    fn a_column_of_latency_is_there_when_a_server_tells_it() {
        let mut row = up("a:1");
        row.figures.p99_us = Some(85.0);
        let lines = lines(&[row], None);
        assert!(lines[0].contains("  p99  ") && lines[1].contains(" 85us "), "{lines:?}");
    }

    #[test]
    fn a_narrow_terminal_keeps_the_most_important_columns() {
        let rows = [up("cache-17.eu-west.example.com:11211"), down("10.0.0.2:11211")];
        let at_40 = lines(&rows, Some(40));
        assert_eq!(at_40[0], "server          state req/s get/s    hit");
        assert_eq!(at_40[1], "cache-1~m:11211 up     1000   900  50.0%");
        assert_eq!(at_40[2], "10.0.0.2:11211  down  connection refuse~");
        let at_80 = lines(&rows, Some(80));
        for title in ["req/s", "get/s", "set/s", "hit", "conns", "full"] {
            assert!(at_80[0].contains(title), "{at_80:#?}");
        }
        for width in 0..200 {
            for line in lines(&rows, Some(width)) {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn cut_texts_keep_their_width() {
        assert_eq!(cut_middle("abcdefghij", 5), "ab~ij");
        assert_eq!(cut_middle("abc", 3), "abc");
        assert_eq!((cut_middle("abc", 0), cut_middle("abc", 1)), (String::new(), "~".to_owned()));
        assert_eq!((cut_end("abcdef", 4), cut_end("abc", 0)), ("abc~".to_owned(), String::new()));
    }
}
