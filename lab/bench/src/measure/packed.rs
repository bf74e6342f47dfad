//! A packed histogram: some hundred bytes instead of a quarter of a megabyte. So a long sweep can keep every round of
//! every cell.

use std::io::Cursor;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// A histogram in HdrHistogram's own compressed form.
#[derive(Debug, Clone)]
pub struct Packed(Vec<u8>);

impl Packed {
    /// Packs a histogram.
    pub(crate) fn new(histogram: &Histogram<u64>) -> Self {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(histogram, &mut bytes)
            .expect("a histogram of ours fits the format, and memory takes every write");
        Self(bytes)
    }

    /// Unpacks the histogram, exactly as it was.
    pub fn unpack(&self) -> Histogram<u64> {
        Deserializer::new()
            .deserialize(&mut Cursor::new(&self.0))
            .expect("what was packed here is whole")
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tally;
    use super::*;

    #[test]
    fn packed_records_come_out_unchanged_and_are_small_meanwhile() {
        let mut histogram = Tally::new().latency;
        for value in [1, 35, 35, 1000, 77_000, 3_000_000_000] {
            histogram.record(value).unwrap();
        }
        let packed = Packed::new(&histogram);
        assert_eq!(packed.unpack(), histogram);
        assert!(packed.0.len() < 1000, "{}", packed.0.len());
    }
}
