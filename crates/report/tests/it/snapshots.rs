//! The look of every format, at three widths, with and without colours.

use insta::assert_snapshot;
use larder_report::{Format, Run, Style, render, samples_csv};

/// A comparison of six targets over three sizes: one refuses the largest values, one cannot run, one never hits.
pub(crate) fn fixture() -> Run {
    Run::from_json(include_str!("../fixture/run.json")).expect("the fixture is a run.json")
}

#[test]
fn terminal_formats() {
    let run = fixture();
    for format in [Format::TABLE, Format::MATRIX] {
        for width in [60, 100, 160] {
            for colour in [false, true] {
                let name = format!("{format}_{width}{}", if colour { "_colour" } else { "" });
                assert_snapshot!(name, render(&run, format, Style { colour, width }));
            }
        }
    }
}

#[test]
fn file_formats() {
    let run = fixture();
    // Width and colour do not matter to a file.
    for format in [Format::MARKDOWN, Format::CSV] {
        let text = render(&run, format, Style { colour: true, width: 10 });
        assert_eq!(text, render(&run, format, Style { colour: false, width: 200 }));
        assert_snapshot!(format.to_string(), text);
    }
    let first_lines: Vec<_> = samples_csv(&run).lines().take(12).map(str::to_owned).collect();
    assert_snapshot!("samples", first_lines.join("\n"));
}

#[test]
fn a_report_of_one_operation_at_one_point() {
    let mut run = fixture();
    run.cells.retain(|cell| cell.point == super::small::size(4096));
    run.comparisons.retain(|comparison| comparison.point == super::small::size(4096));
    run.floors.retain(|floor| floor.point == super::small::size(4096));
    assert_snapshot!("one_point", render(&run, Format::TABLE, Style { colour: false, width: 120 }));
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_figure_is_broken() {
    let run = fixture();
    for format in [Format::TABLE, Format::MATRIX] {
        for width in 50..170 {
            let text = render(&run, format, Style { colour: false, width });
            for line in text.lines() {
                // A word that is longer than the line cannot be broken.
                let one_word = line.split_whitespace().count() <= 2;
                assert!(line.chars().count() <= width || one_word, "{format} {width}: {line}");
                let first = line.split_whitespace().next().unwrap_or_default();
                let unit = first.trim_end_matches([',', ';', ':', ')', '.']);
                assert!(
                    !["%", "µs", "ms", "k/s", "/s", "KiB", "MiB"].contains(&unit),
                    "{width}: {line}"
                );
            }
        }
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    let run = fixture();
    for format in [Format::TABLE, Format::MATRIX] {
        let coloured = render(&run, format, Style { colour: true, width: 100 });
        let mut bare = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            bare.push_str(before);
            rest = after.split_once('m').expect("an escape ends").1;
        }
        bare.push_str(rest);
        assert_eq!(bare, render(&run, format, Style { colour: false, width: 100 }));
    }
}
