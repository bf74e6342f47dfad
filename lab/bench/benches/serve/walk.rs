//! The order in which a client asks for keys.

/// A walk over all keys, again and again, in which neighbours lie far apart.
#[derive(Debug)]
pub(crate) struct Walk {
    at: u32,
    step: u32,
    n_keys: u32,
}

impl Walk {
    pub(crate) fn new(n_keys: u32) -> Self {
        // The golden section keeps steps far apart. A step without a common factor comes to every key.
        let wished = u32::try_from(u64::from(n_keys) * 618 / 1000).unwrap_or(n_keys).max(1);
        let step = (wished..=n_keys).find(|step| gcd(*step, n_keys) == 1).unwrap_or(1);
        Self { at: 0, step: step % n_keys, n_keys }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        self.at += self.step;
        if self.at >= self.n_keys {
            self.at -= self.n_keys;
        }
        self.at
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
