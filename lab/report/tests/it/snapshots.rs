//! The look of every format.

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
        assert_snapshot!(format.to_string(), render(&run, format, super::small::PLAIN));
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
    super::small::assert_lines(
        &render(&run, Format::TABLE, Style { colour: false, width: 120 }),
        &[
            "memcached:       41.5 k/s  ±1.2 %   1.00×  21.9 µs  50.6 µs  9.10 µs  8.20 µs  64.9 MiB            volatile    network",
            "redis            redis: connection to 127.0.0.1:6379 refused; start the server or leave the host out for a private one",
            "lmdb:              50.8 k/s  ±0.9 %  0.88×  a    100 %  17.9 µs  41.4 µs  14.0 µs           os-cache    host",
            "no room in 120 characters for p99.9, max, memory and disk: run.json has them",
            "set       memcached: is 1.70× [1.68–1.73] faster than file (p < 0.001)",
            "file and lmdb: cannot be told apart (ratio 1.00 [0.99–1.02], p = 0.90)",
            "not run   redis did not run: redis: connection to 127.0.0.1:6379 refused; start the server or leave the host out for a",
            "Checks: 3 errors, 4 warnings and 10 notes",
        ],
    );
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
        assert_ne!(bare, coloured, "{format} has no colours");
        assert_eq!(bare, render(&run, format, Style { colour: false, width: 100 }));
    }
}
