//! A table of a document: a row for each name, and a column for each figure.

use super::text::{Meaning, Text};
use crate::grid::ALWAYS;

/// Rows of texts below heads.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Its name: for readers who cannot see it, and above a table beside another.
    pub(crate) caption: String,
    pub(crate) caption_means: Meaning,
    /// The head of the names.
    pub(crate) names: Text,
    /// The columns behind the names.
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// The least width of the names in a terminal, so that the figures of several tables begin at one place.
    pub(crate) names_width: usize,
    /// Whether the rows belong to places, which are named above them or beside them.
    pub(crate) has_places: bool,
    /// Whether a terminal draws a rule below the heads.
    pub(crate) is_ruled: bool,
    /// Whether a terminal without room for all columns names those that are left out.
    pub(crate) tells_hidden: bool,
}

/// A column of figures or of words.
#[derive(Debug)]
pub(crate) struct Column {
    /// Its head, and its name in a sentence.
    pub(crate) name: String,
    /// Its head in a terminal in two lines; `None` where that is its name. The upper line of neighbours is written
    /// once.
    pub(crate) heads: Option<[&'static str; 2]>,
    /// In a terminal without room, the column with the lowest importance goes first.
    pub(crate) importance: u8,
    /// Whether its texts are words, which stand to the left.
    pub(crate) words: bool,
}

/// A name and its figures.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// The place in the sweep; empty without a sweep.
    pub(crate) place: String,
    /// Whether it is the first of its place. Labels of two places may read alike.
    pub(crate) begins_place: bool,
    pub(crate) name: Text,
    /// A text for each column; empty where a terminal has the remark in their place.
    pub(crate) cells: Vec<Text>,
    /// A remark below the row in a terminal.
    pub(crate) remark: Option<Text>,
    /// Whether its figures are no result.
    pub(crate) is_withheld: bool,
}

impl Row {
    /// A place without a name and figures.
    pub(crate) fn of_place(place: String) -> Self {
        Self { place, begins_place: true, ..Self::default() }
    }

    /// Whether it has neither a name nor figures: its place has no row.
    pub(crate) fn is_place_alone(&self) -> bool {
        self.begins_place && self.name.spans.is_empty() && self.cells.is_empty()
    }
}

impl Column {
    /// A column of figures that is never left out.
    pub(crate) fn of_figures(name: impl Into<String>) -> Self {
        Self { name: name.into(), heads: None, importance: ALWAYS, words: false }
    }
}

impl Table {
    /// Each target against each other: the names with their rates, and a text for each pair.
    pub(crate) fn matrix<'a>(
        (caption, caption_means): (&str, Meaning),
        rated: impl Iterator<Item = (&'a str, String)>,
        texts: Vec<Vec<String>>,
    ) -> Self {
        let (names, rates): (Vec<&str>, Vec<String>) = rated.unzip();
        let columns = ["rate"].iter().chain(&names).map(|name| Column::of_figures(*name));
        let row = |((name, rate), texts): ((&&str, String), Vec<String>)| {
            let rate = Text::from(rate).means(Meaning::Main);
            let cells = [rate].into_iter().chain(texts.into_iter().map(Text::from)).collect();
            Row { name: (*name).into(), cells, ..Row::default() }
        };
        Self {
            caption: caption.to_owned(),
            caption_means,
            columns: columns.collect(),
            rows: names.iter().zip(rates).zip(texts).map(row).collect(),
            ..Self::default()
        }
    }

    /// Whether it is a list of names with a text each. The texts may be long.
    pub(crate) fn is_list(&self) -> bool {
        matches!(&self.columns[..], [column] if column.words)
    }

    /// Whether its rows are at different places of a sweep.
    pub(crate) fn is_swept(&self) -> bool {
        self.has_places && self.rows.iter().any(|row| !row.place.is_empty())
    }
}
