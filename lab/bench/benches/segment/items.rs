//! The size of an item besides its key and its value: a million of 100 bytes.

use larder_segment::{Cache, Session, Set};

use crate::caches::options;
use crate::keys::{KEY_LEN, key, write_value};
use crate::report::{self, Goal, figures, goal};
use crate::{Result, Scale};

const KEYS: usize = 1_000_000;
const LEN: usize = 100;

/// The region sizes that are tried begin between these bytes an item, and the search ends at this precision.
const BETWEEN: (usize, usize) = (KEY_LEN + LEN, 4 * (KEY_LEN + LEN));
const TO: f64 = 0.25;

/// The number of regions that are sized, and filled: each has its own hash, and so another unevenness.
const REGIONS: usize = 3;

pub(crate) fn measure(scale: Scale) -> Result<()> {
    let n = scale.of(KEYS, 20_000);
    let (mut all, mut full) = (Vec::new(), Vec::new());
    for _ in 0..scale.of(REGIONS, 1) {
        let least = least_for_all(n)?;
        all.push(beside(least, n));
        // There are enough items that each byte of the region is written more than once.
        let size = n * (KEY_LEN + LEN);
        full.push(beside(size, stored(size, 3 * n)?));
    }
    let title = "Memory of an item besides key and value: a million of 20 and 100 bytes";
    report::heading(title, "bytes");
    let sized = "of the smallest region that holds all of them";
    let filled = "of a full region: its bytes by what it holds";
    figures(sized, &all);
    figures(filled, &full);
    report::goals();
    for (name, found) in [(sized, &all), (filled, &full)] {
        goal(name, larder_analysis::statistics::median(found), " bytes", Goal::AtMost(40.0));
    }
    Ok(())
}

/// The smallest region of which all `n` items can be read back.
fn least_for_all(n: usize) -> Result<usize> {
    let (mut too_small, mut enough) = (n * BETWEEN.0, n * BETWEEN.1);
    if stored(enough, n)? < n {
        return Err(format!("{} bytes an item are not enough", BETWEEN.1).into());
    }
    #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
    while (enough - too_small) as f64 > TO * n as f64 {
        let size = usize::midpoint(too_small, enough);
        if stored(size, n)? == n {
            enough = size;
        } else {
            too_small = size;
        }
    }
    Ok(enough)
}

/// Stores `n` items in a new region, and counts those that can be read back.
fn stored(size: usize, n: usize) -> Result<usize> {
    let cache = Cache::private(&options(size, LEN))?;
    let mut session: Session = cache.session();
    let mut expected = vec![0; LEN];
    for number in 0..n {
        write_value(number, &mut expected);
        session.set(&key(number), &expected, &Set::default())?;
    }
    let (mut value, mut held) = (Vec::new(), 0);
    for number in 0..n {
        if session.get(&key(number), &mut value).is_some() {
            write_value(number, &mut expected);
            if value != expected {
                return Err(format!("key {number} has another value than was stored").into());
            }
            held += 1;
        }
    }
    Ok(held)
}

/// Bytes of a region for each item, without key and value.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn beside(size: usize, items: usize) -> f64 {
    size as f64 / items as f64 - (KEY_LEN + LEN) as f64
}
