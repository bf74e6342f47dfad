//! Reproducible draws for tests.

/// `SplitMix64` (Steele, Lea and Flood, 2014): one addition and a mix for each draw, the same stream for a seed
/// everywhere.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A stream that its seed determines.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which must not be 0. The bias is below 2^-32 for the small numbers of tests.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next_u64() % end as u64).expect("below a usize")
    }

    /// Bytes of every kind, so that values also have bytes that text lacks.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len + 8);
        while bytes.len() < len {
            bytes.extend_from_slice(&self.next_u64().to_le_bytes());
        }
        bytes.truncate(len);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_the_stream() {
        // The reference values of the published algorithm for seed 0.
        let mut random = Random::new(0);
        assert_eq!(random.next_u64(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(random.next_u64(), 0x6E78_9E6A_A1B9_65F4);
        assert_eq!(Random::new(7).bytes(13), Random::new(7).bytes(13));
        assert_eq!(Random::new(7).bytes(13).len(), 13);
    }
}
