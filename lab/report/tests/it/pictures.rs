//! Charts as still pictures: their look, and their accessibility to every reader and program.

use insta::assert_snapshot;
use larder_report::{Chart, Ground, Run, charts, png, svg};

use super::charts::sweep;
use super::made_up::{MADE_UP, hostile, largest};
use super::small::gets;
use super::snapshots::fixture;

/// The chart with this id.
fn chart(run: &Run, id: &str) -> Chart {
    charts(run).into_iter().find(|chart| chart.id == id).unwrap_or_else(|| panic!("no {id}"))
}

/// Every run of these tests.
fn runs() -> impl Iterator<Item = Run> {
    MADE_UP.iter().map(|(_, run)| run()).chain([hostile(), fixture(), sweep()])
}

#[test]
fn bars_and_lines_as_they_look() {
    // Bars, and lines with their intervals.
    assert_snapshot!("bars", svg(&chart(&fixture(), "rate-get"), Ground::White));
    assert_snapshot!("lines", svg(&chart(&sweep(), "latency-get-p99"), Ground::White));
}

#[test]
fn every_picture_names_what_it_shows() {
    for run in [fixture(), sweep()] {
        for chart in charts(&run) {
            let text = svg(&chart, Ground::White);
            let document = roxmltree::Document::parse(&text).unwrap();
            let texts: String = document.descendants().filter_map(|node| node.text()).collect();
            assert!(texts.contains(&chart.title), "{}: {texts}", chart.id);
            for series in &chart.series {
                assert!(
                    texts.contains(&*series.name),
                    "{}: no {} in {texts}",
                    chart.id,
                    series.name
                );
            }
        }
    }
}

#[test]
fn every_picture_is_well_formed_and_its_numbers_are_finite() {
    for run in runs() {
        for chart in charts(&run) {
            for ground in [Ground::White, Ground::Page] {
                let text = svg(&chart, ground);
                let document = roxmltree::Document::parse(&text);
                let document = document.unwrap_or_else(|error| panic!("{}: {error}", chart.id));
                let attributes = document.descendants().flat_map(|node| node.attributes());
                for attribute in attributes
                    .filter(|a| ["d", "x", "y", "transform", "viewBox"].contains(&a.name()))
                {
                    let broken = ["NaN", "inf"].iter().any(|word| attribute.value().contains(word));
                    assert!(!broken, "{}: {}", chart.id, attribute.value());
                }
            }
        }
    }
}

#[test]
fn no_mark_lies_beyond_the_edge() {
    for run in runs() {
        for chart in charts(&run) {
            let text = svg(&chart, Ground::White);
            let document = roxmltree::Document::parse(&text).unwrap();
            let size = document.root_element().attribute("viewBox").unwrap();
            let [width, height] =
                [2, 3].map(|at| size.split(' ').nth(at).unwrap().parse::<f64>().unwrap());
            for node in document.descendants().filter(|node| node.has_tag_name("text")) {
                let [x, y] =
                    ["x", "y"].map(|name| node.attribute(name).unwrap().parse::<f64>().unwrap());
                assert!(
                    (0.0..width).contains(&x) && (0.0..height).contains(&y),
                    "{}: {x} {y}",
                    chart.id
                );
            }
            let moved = document.descendants().filter_map(|node| node.attribute("transform"));
            for place in moved {
                let place = place.trim_start_matches("translate(").split(')').next().unwrap();
                let (x, y) = place.split_once(' ').unwrap();
                let [x, y] = [x, y].map(|number| number.parse::<f64>().unwrap());
                assert!(
                    (0.0..width).contains(&x) && (0.0..height).contains(&y),
                    "{}: {x} {y}",
                    chart.id
                );
            }
        }
    }
}

#[test]
fn a_picture_describes_itself_to_a_screen_reader() {
    let text = svg(&chart(&fixture(), "rate-get"), Ground::Page);
    let document = roxmltree::Document::parse(&text).unwrap();
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    let named = root.attribute("aria-labelledby").unwrap().split(' ').map(|id| {
        let mut nodes = document.descendants().filter(|node| node.attribute("id") == Some(id));
        nodes.next().expect("the label is there").text().unwrap().to_owned()
    });
    let named: Vec<String> = named.collect();
    assert_eq!(named[0], "get: requests answered per second");
    assert!(named[1].starts_with("More is better."), "{}", named[1]);
    assert!(named[1].contains("perl+filecache: is not ranked (NEVER-HITS)."), "{}", named[1]);
    assert!(
        named[1]
            .contains("memcached: has no figure at 2.1 MiB (value 2.1 MiB > item limit 1 MiB).")
    );
    // In a separate file, each mark has its figure as a title for the pointer.
    let file = svg(&chart(&fixture(), "rate-get"), Ground::White);
    assert!(file.contains("<title>memcached:, 4 KiB: 57.9 k/s [57.5–59.0]</title>"));
}

#[test]
fn on_the_page_the_style_sheet_has_the_colours_and_the_font() {
    let chart = chart(&fixture(), "rate-get");
    let (page, file) = (svg(&chart, Ground::Page), svg(&chart, Ground::White));
    assert!(page.contains("var(--series-0)") && !page.contains("=\"#1e4cc1"), "{page}");
    // The page, not the picture, has the outlines of the marks.
    assert!(page.contains(r##"<use class="s0" href="#dot-circle""##), "{page}");
    assert!(!page.contains("font-family") && !page.contains("style="));
    assert!(file.contains("#1e4cc1") && !file.contains("var("));
}

#[test]
fn a_picture_of_a_run_that_others_named_shows_their_text_as_text() {
    let run = gets(&[("</text><script>alert(1)</script>&\"'\u{1}\u{ffff}", 1e6), ("b", 1e4)]);
    let text = svg(&chart(&run, "rate-get"), Ground::White);
    let document = roxmltree::Document::parse(&text).unwrap();
    assert!(!document.descendants().any(|node| node.has_tag_name("script")));
    assert!(
        document
            .descendants()
            .any(|node| node.text().is_some_and(|t| t.contains("</text><script>")))
    );
}

#[test]
fn a_png_is_sharp_and_has_its_text_on_any_machine() {
    let chart = chart(&fixture(), "resources-get-4-KiB-memory");
    let text = svg(&chart, Ground::White);
    let document = roxmltree::Document::parse(&text).unwrap();
    let height: f64 = document.root_element().attribute("height").unwrap().parse().unwrap();
    let image = png(&chart);
    assert_eq!(&image[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(image[at..at + 4].try_into().unwrap());
    assert_eq!((number(16), f64::from(number(20))), (1680, (height * 2.0).ceil()));
    // Without a font the texts would be missing: a picture with another title has other pixels.
    let mut other = chart.clone();
    other.title = "another title".into();
    assert_ne!(png(&other), image);
}

#[test]
fn the_largest_run_has_small_pictures() {
    for chart in charts(&largest()) {
        let length = svg(&chart, Ground::Page).len();
        assert!(length < 90_000, "{}: {length}", chart.id);
    }
}
