//! Pictures for programs that do not take SVG.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::{Ground, svg};
use crate::chart::model::Chart;

/// The font of every picture: system fonts would make it look different on each machine.
const FAMILY: &str = "DejaVu Sans";

/// The pixels for each unit of the SVG, for sharp pictures on high-resolution screens.
const PIXELS: f32 = 2.0;

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
});

/// A chart as PNG, twice as large as its SVG.
pub fn png(chart: &Chart) -> Vec<u8> {
    let options = Options {
        fontdb: Arc::clone(&FONTS),
        font_family: FAMILY.to_owned(),
        ..Options::default()
    };
    let tree = Tree::from_str(&svg(chart, Ground::White), &options)
        .expect("what svg writes is well-formed, and its numbers are finite");
    let size = tree.size().to_int_size().scale_by(PIXELS).expect("a picture has a size");
    let mut pixels = Pixmap::new(size.width(), size.height()).expect("a picture is not empty");
    resvg::render(&tree, Transform::from_scale(PIXELS, PIXELS), &mut pixels.as_mut());
    pixels.encode_png().expect("memory takes every write")
}
