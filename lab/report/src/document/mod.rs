//! A report as a document: its content, apart from the form that a format gives it.
//!
//! A kind of report builds a [`Document`] of blocks, and a drawer for each format draws it: `terminal` in the width and
//! the colours of a terminal, `markdown` for a pull request, `html` as a page. A builder writes no syntax of a format,
//! and a drawer knows no kind of report. Where a format shows more columns or other parts than another, the builder
//! asks for its [`Reader`].

mod beside;
#[cfg(test)]
mod hostile;
mod html;
mod markdown;
mod table;
mod terminal;
mod text;

pub(crate) use markdown::{escaped, pipes};
pub(crate) use table::{Column, Row, Table};
pub(crate) use terminal::hidden_columns;
pub(crate) use text::{Meaning, Span, Text};

use std::collections::BTreeSet;

use crate::chart::Chart;

/// Marks the name of a row whose figures are no result.
const WITHHELD: &str = "✗ ";

/// The reader for whom a document is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// At a terminal.
    Terminal,
    /// Of a pull request or a plain file.
    Markdown,
    /// Of a page in a browser.
    Page,
}

/// A whole report.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// Its title. The terminal has none, because the reader has just typed the command.
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
    /// What a page has beside the blocks.
    pub(crate) page: PageParts,
}

/// The parts of a page that other formats lack.
#[derive(Debug, Default)]
pub(crate) struct PageParts {
    /// The version of Larder that made the data of the page.
    pub(crate) larder: String,
    /// The name of the buttons that show and hide the lines or bars of all figures.
    pub(crate) legend: &'static str,
    /// Those lines or bars.
    pub(crate) targets: Vec<FigureTarget>,
    /// The file from which the page is made, and which it contains: its name, and its text in JSON.
    pub(crate) data: Option<(&'static str, String)>,
}

/// The name of a target in figures, and the rounds behind its marks.
#[derive(Debug)]
pub(crate) struct FigureTarget {
    pub(crate) name: String,
    pub(crate) rounds: String,
}

/// A part of a document.
#[derive(Debug)]
pub(crate) enum Block {
    /// The beginning of a section: its heading; on a page also its anchor and its name in the contents.
    Section(String, Option<(&'static str, &'static str)>),
    /// The beginning of a part of a section: its heading, and its anchor on a page.
    Part(String, Option<&'static str>),
    /// The place of the table below it, which stands directly below the block above; empty without a place.
    Place(String),
    /// Sentences, each of which begins a line.
    Paragraph(Vec<Text>),
    /// A remark on the block above it.
    Note(Text),
    /// The reason to doubt the whole report.
    Warning(String),
    List(Vec<Item>),
    /// Labels, each with a fact.
    Facts(Vec<(String, Text)>),
    /// Subjects, each with a sentence or several.
    Sayings(Vec<(String, Text)>),
    Table(Table),
    /// Remarks on single rows of the table above them.
    Remarks(Vec<Text>),
    /// Tables side by side, where there is room.
    Beside(Vec<Table>),
    /// A folded part, below its heading.
    Details(String, Vec<Self>),
    /// Charts among which a reader of a page chooses. Other readers do not see them.
    Figure(Figure),
}

/// An item of a list, and the texts that belong to it.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) text: Text,
    pub(crate) details: Vec<Text>,
    /// The next step of a reader.
    pub(crate) advice: Vec<String>,
}

/// The charts of one family.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) charts: Vec<Chart>,
    /// The meaning of colours, lengths and signs.
    pub(crate) key: String,
    /// Whether they are the answer, so that they need no heading.
    pub(crate) is_main: bool,
    /// The ids of the charts that are shown without a script too; `None` where all of them may be.
    pub(crate) stills: Option<BTreeSet<String>>,
}

impl Document {
    pub(crate) fn push(&mut self, block: Block) {
        self.blocks.push(block);
    }

    /// Begins a section.
    pub(crate) fn section(&mut self, heading: &str) {
        self.push(Block::Section(heading.to_owned(), None));
    }

    /// Begins a section of a page, with its anchor and its name in the contents.
    pub(crate) fn page_section(&mut self, anchor: &'static str, name: &'static str, heading: &str) {
        self.push(Block::Section(heading.to_owned(), Some((anchor, name))));
    }

    /// Sentences, each of which begins a line; no block without one.
    pub(crate) fn paragraph<T: Into<Text>>(&mut self, texts: impl IntoIterator<Item = T>) {
        let texts: Vec<Text> = texts.into_iter().map(Into::into).collect();
        if !texts.is_empty() {
            self.push(Block::Paragraph(texts));
        }
    }

    /// A list; no block without an item.
    pub(crate) fn list<T: Into<Item>>(&mut self, items: impl IntoIterator<Item = T>) {
        let items: Vec<Item> = items.into_iter().map(Into::into).collect();
        if !items.is_empty() {
            self.push(Block::List(items));
        }
    }

    /// Remarks on rows of the table above; no block without one.
    pub(crate) fn remarks(&mut self, remarks: impl Iterator<Item = Text>) {
        let remarks: Vec<Text> = remarks.collect();
        if !remarks.is_empty() {
            self.push(Block::Remarks(remarks));
        }
    }

    /// Labels with their facts.
    pub(crate) fn facts<L, T>(&mut self, facts: impl IntoIterator<Item = (L, T)>)
    where
        L: Into<String>,
        T: Into<Text>,
    {
        let facts = facts.into_iter().map(|(label, text)| (label.into(), text.into()));
        self.push(Block::Facts(facts.collect()));
    }

    /// Subjects with their sentences; no block without one.
    pub(crate) fn sayings<S, T>(&mut self, sayings: impl IntoIterator<Item = (S, T)>)
    where
        S: Into<String>,
        T: Into<Text>,
    {
        let sayings = sayings.into_iter().map(|(subject, text)| (subject.into(), text.into()));
        let sayings: Vec<(String, Text)> = sayings.collect();
        if !sayings.is_empty() {
            self.push(Block::Sayings(sayings));
        }
    }

    /// Charts, where there are any.
    pub(crate) fn figure(&mut self, figure: Figure) {
        if !figure.charts.is_empty() {
            self.push(Block::Figure(figure));
        }
    }
}

impl<T: Into<Text>> From<T> for Item {
    fn from(text: T) -> Self {
        Self { text: text.into(), details: Vec::new(), advice: Vec::new() }
    }
}
