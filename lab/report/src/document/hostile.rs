//! A document of all blocks with one name in each place, for tests of the drawers.

use super::{Block, Column, Document, Item, Meaning, Row, Span, Table, Text};

/// A name that has a meaning in tables, code, markup and lines, and that turns the text around it.
pub(super) const HOSTILE: &str = "a|b`c<i>\nd\u{202e}e";

/// Every block and every span with this name.
pub(super) fn document(name: &str) -> Document {
    let own = || name.to_owned();
    let spans = || Text::of(vec![Span::Code(own()), Span::Plain(" ".into()), Span::Strong(own())]);
    let mut document = Document { title: own(), ..Document::default() };
    document.push(Block::Warning(own()));
    document.facts([(own(), own())]);
    document.page_section("there", "There", name);
    document.push(Block::Part(own(), None));
    document.push(Block::Place(own()));
    document.paragraph([Text::of(vec![Span::Link(own(), "there".into())])]);
    document.push(Block::Note(name.into()));
    document.push(Block::List(vec![Item {
        text: spans(),
        details: vec![name.into()],
        advice: vec![own()],
    }]));
    document.sayings([(own(), Text::of(vec![Span::Emphasis(own())]))]);
    document.push(Block::Table(table(name)));
    document.remarks([Text::from(name)].into_iter());
    document.push(Block::Beside(vec![table(name)]));
    document.push(Block::Details(own(), vec![Block::Note(name.into())]));
    document
}

fn table(name: &str) -> Table {
    let cell = Text::of(vec![Span::Code(name.to_owned())]).means(Meaning::Bad);
    let row = Row {
        place: name.to_owned(),
        begins_place: true,
        name: Text::of(vec![Span::Strong(name.to_owned())]),
        cells: vec![name.into(), cell],
        remark: Some(name.into()),
        is_withheld: true,
    };
    let words = Column { words: true, ..Column::of_figures(name) };
    Table {
        caption: name.to_owned(),
        names: Text::of(vec![Span::Emphasis(name.to_owned())]),
        columns: vec![Column::of_figures(name), words],
        rows: vec![row],
        has_places: true,
        ..Table::default()
    }
}
