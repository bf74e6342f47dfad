//! The tables of figures: the rows by point and then by rate, and the meaning of their marks.

use crate::columns::{ANSWERED, ANSWERED_MEANS, BAR, COLUMNS, FACTS, TIED};
use crate::document::{Block, Document, Meaning, Row, Span, Table, Text, hidden_columns};
use crate::figures::{agreeing, list};
use crate::header::told_of_all;
use crate::model::{Operation, Run};
use crate::points::label;
use crate::ranking::{self, Group, Standing, groups};
use crate::shown_percentiles::{WITHHELD, WITHHELD_MEANS, withholds};
use crate::style::Style;
use crate::text::width;
use crate::{columns, document};

/// A table for each operation, then the meaning of its marks and the columns that did not fit.
pub(super) fn for_terminal(document: &mut Document, run: &Run, style: Style) {
    let groups = groups(run);
    // All tables begin their figures at the same place, behind the indented names.
    let names = groups.iter().flat_map(|group| &group.rows).map(|row| width(row.name) + 2).max();
    let mut left_out: Vec<&str> = Vec::new();
    for of_operation in groups.chunk_by(|a, b| a.operation == b.operation) {
        let shown = shown_columns(run, of_operation);
        let table = Table { names_width: names.unwrap_or(0), ..table(run, of_operation, &shown) };
        left_out.extend(hidden_columns(&table, style, 0).iter().map(|at| shown[*at].name));
        document.push(Block::Table(table));
    }
    let legend = legend(&groups, &left_out, style).into_iter();
    document.list(legend.map(|text| Text::from(text).means(Meaning::Faint)));
}

fn table(run: &Run, groups: &[Group<'_>], shown: &[&columns::Column]) -> Table {
    let swept = run.swept();
    let mut rows = Vec::new();
    for group in groups {
        let place = if swept.is_empty() { String::new() } else { label(group.point, &swept) };
        let mut of_place: Vec<Row> = group
            .shown(&swept)
            .map(|row| Row { place: place.clone(), ..ranked(row, shown) })
            .collect();
        match of_place.first_mut() {
            Some(first) => first.begins_place = true,
            None => of_place.push(Row::of_place(place)),
        }
        rows.append(&mut of_place);
    }
    Table {
        names: Text::from(groups[0].operation.as_str()).means(Meaning::Main),
        columns: shown.iter().map(|it| of_document(it, importance(it, groups))).collect(),
        rows,
        has_places: true,
        is_ruled: true,
        ..Table::default()
    }
}

fn of_document(column: &columns::Column, importance: u8) -> document::Column {
    document::Column {
        name: column.name.to_owned(),
        heads: Some(column.head),
        importance,
        words: column.words,
    }
}

/// The importance of a column. In an open loop the slowest operations have two times, from the planned start and from
/// the real one. Each says little without the other.
fn importance(column: &columns::Column, groups: &[Group<'_>]) -> u8 {
    const OF_BOTH: u8 = 84;
    let is_paced =
        || groups.iter().flat_map(|group| &group.rows).any(|row| row.cell.paced.is_some());
    if column.name == "p99.9" && is_paced() { OF_BOTH } else { column.importance }
}

/// The columns with information: not empty in every row, and no fact that the header already gives for all.
fn shown_columns(run: &Run, groups: &[Group<'_>]) -> Vec<&'static columns::Column> {
    let has_figures = |row: &&ranking::Row<'_>| row.rate().is_some();
    let rows: Vec<_> = groups.iter().flat_map(|g| &g.rows).filter(has_figures).collect();
    let says_something = |column: &&columns::Column| {
        let told = FACTS.contains(&column.name) && told_of_all(run, column.name).is_some();
        !told && rows.iter().any(|row| (column.text)(row).is_some())
    };
    COLUMNS.iter().filter(says_something).collect()
}

/// A row of the ranking, with the reason below it if its figures are missing or do not count.
fn ranked(row: &ranking::Row<'_>, columns: &[&columns::Column]) -> Row {
    let is_withheld = row.is_withheld();
    let name = if is_withheld { Meaning::Bad } else { Meaning::Plain };
    let remark = remark(row).map(|why| {
        Text::from(why).means(match row.standing {
            Standing::Withheld(_) => Meaning::Bad,
            _ => Meaning::Doubt,
        })
    });
    let cell = |column: &&columns::Column| match (column.text)(row) {
        Some(text) => Text::from(text).means(meaning(column, row)),
        None => Text::from(column.otherwise).means(Meaning::Faint),
    };
    let is_empty = matches!(row.standing, Standing::Empty(_));
    let cells = if is_empty { Vec::new() } else { columns.iter().map(cell).collect() };
    let name = Text::from(row.name).means(name);
    Row { name, cells, remark, is_withheld, ..Row::default() }
}

fn meaning(column: &columns::Column, row: &ranking::Row<'_>) -> Meaning {
    match (column.name, &row.standing) {
        ("wrong" | "errors", _) => Meaning::Bad,
        (_, Standing::Withheld(_)) | ("±", _) => Meaning::Faint,
        ("rate" | ANSWERED | "vs best" | BAR, _) if row.leads => Meaning::Good,
        ("rate" | ANSWERED, _) => Meaning::Main,
        (BAR | "tie", _) => Meaning::Place,
        _ => Meaning::Plain,
    }
}

/// The reason why a row has no figures, or none that count.
fn remark(row: &ranking::Row<'_>) -> Option<String> {
    match &row.standing {
        Standing::Ranked { .. } => None,
        Standing::Unlike { reason, .. } => Some(reason.clone()),
        Standing::Withheld(_) => row.withheld().map(|why| format!("no result: {why}")),
        Standing::Empty(reason) => Some((*reason).to_owned()),
    }
}

/// The meaning of the marks in the tables, and the columns without room.
fn legend(groups: &[Group<'_>], left_out: &[&str], style: Style) -> Vec<String> {
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let mut legend = Vec::new();
    if rows().any(|row| !row.ties.is_empty()) {
        legend.push("tie: targets that share a letter cannot be told apart".to_owned());
    }
    if rows().any(|row| row.ties_best) {
        legend.push(format!("{TIED} cannot be told apart from the fastest"));
    }
    if rows().any(|row| row.misses && row.rate().is_some()) {
        legend.push(ANSWERED_MEANS.to_owned());
    }
    let is_shown = |column: &&columns::Column| !left_out.contains(&column.name);
    let untold = |row: &ranking::Row<'_>| {
        let mut shown = COLUMNS.iter().filter(is_shown);
        row.rate().is_some() && shown.any(|column| (column.text)(row).as_deref() == Some(WITHHELD))
    };
    if rows().any(untold) {
        legend.push(format!("{WITHHELD} {WITHHELD_MEANS}"));
    }
    if rows().any(ranking::Row::is_withheld) {
        legend.push("✗ is no result and stands outside the ranking".to_owned());
    }
    legend.extend(counted_in_keys(groups));
    // In the order of the table, each once; a bar is not a figure.
    let names = COLUMNS.iter().map(|column| column.name);
    let names: Vec<&str> = names.filter(|name| *name != BAR && left_out.contains(name)).collect();
    if !names.is_empty() {
        let (width, them) = (style.width, agreeing(names.len(), "it", "them"));
        let names = list(&names);
        legend.push(format!("no room in {width} characters for {names}: run.json has {them}"));
    }
    legend
}

/// The operations whose requests have several keys.
fn counted_in_keys(groups: &[Group<'_>]) -> Option<String> {
    let mut of_keys: Vec<&str> = Vec::new();
    for operation in groups.iter().map(|group| group.operation) {
        if operation.is_of_many_keys() && !of_keys.contains(&operation.as_str()) {
            of_keys.push(operation.as_str());
        }
    }
    match of_keys[..] {
        [] => None,
        [one] => Some(format!("{one} counts keys")),
        _ => Some(format!("{} count keys", of_keys.join(", "))),
    }
}

/// A table for each operation at each point, with all columns that say something there.
pub(super) fn for_markdown(document: &mut Document, run: &Run) {
    let swept = run.swept();
    for group in groups(run) {
        document.section(&heading(group.operation, &label(group.point, &swept)));
        document.push(Block::Table(table_for_markdown(&group, &swept)));
    }
}

fn heading(operation: Operation, place: &str) -> String {
    let place = if place.is_empty() { String::new() } else { format!(", {place}") };
    let keys = if operation.is_of_many_keys() { " (counted in keys)" } else { "" };
    format!("{operation}{place}{keys}")
}

fn table_for_markdown(group: &Group<'_>, swept: &[&str]) -> Table {
    let says_something = |column: &&columns::Column| {
        let is_told = |row: &ranking::Row<'_>| row.rate().is_some() && (column.text)(row).is_some();
        column.name != BAR && group.rows.iter().any(is_told)
    };
    let shown: Vec<&columns::Column> = COLUMNS.iter().filter(says_something).collect();
    let has_remarks = group.shown(swept).any(|row| remark(row).is_some());
    let mut columns: Vec<document::Column> =
        shown.iter().map(|column| of_document(column, column.importance)).collect();
    if has_remarks {
        let remarks = document::Column::of_figures("remark");
        columns.push(document::Column { words: true, ..remarks });
    }
    let row = |row: &ranking::Row<'_>| {
        let Row { name, mut cells, is_withheld, .. } = ranked(row, &shown);
        cells.resize(shown.len(), Text::default());
        if has_remarks {
            cells.push(remark(row).unwrap_or_default().into());
        }
        Row { name, cells, is_withheld, ..Row::default() }
    };
    let rows = group.shown(swept).map(row).collect();
    Table { names: "target".into(), columns, rows, ..Table::default() }
}

/// The meaning of the marks in these tables.
pub(super) fn legend_for_markdown(document: &mut Document, run: &Run) {
    let groups = groups(run);
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let plain = |text: &str| Span::Plain(text.to_owned());
    let mut say = |is_there: bool, spans: Vec<Span>| {
        if is_there {
            document.paragraph([Text::of(spans)]);
        }
    };
    let tie = Span::Emphasis("tie".to_owned());
    let ties =
        vec![plain("Targets that share a letter under "), tie, plain(" cannot be told apart.")];
    say(rows().any(|row| !row.ties.is_empty()), ties);
    let code = |text: &str| Span::Code(text.to_owned());
    let tied = vec![code(TIED), plain(": cannot be told apart from the fastest.")];
    say(rows().any(|row| row.ties_best), tied);
    let withheld = vec![code(WITHHELD), plain(&format!(": {WITHHELD_MEANS}."))];
    say(rows().any(|row| withholds(row.cell)), withheld);
    let answered = vec![plain(&format!("{ANSWERED_MEANS}."))];
    say(rows().any(|row| row.misses && row.rate().is_some()), answered);
}
