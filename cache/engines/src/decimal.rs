//! memcached's rule for `incr`, for engines that have no rule of their own.

use larder_store::Delta;

/// The number that `value` spells, changed by `delta`: the sum stops at 0 and wraps at 2^64. `None` where `value` is
/// not a decimal number below 2^64.
pub fn add(value: &[u8], delta: Delta) -> Option<u64> {
    // `parse` alone would take a sign.
    let digits = value.first().is_some_and(u8::is_ascii_digit);
    let number = digits.then(|| str::from_utf8(value).ok()?.parse::<u64>().ok())??;
    Some(delta.applied_to(number))
}

/// A number as text, without an allocation.
#[derive(Debug)]
pub struct Digits {
    text: [u8; 20],
    start: usize,
}

impl Digits {
    /// Spells a number. Twenty digits hold every number below 2^64.
    #[inline]
    pub fn new(number: u64) -> Self {
        let mut text = [0; 20];
        let mut start = text.len();
        let mut rest = number;
        loop {
            start -= 1;
            text[start] = b"0123456789"[(rest % 10) as usize];
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        Self { text, start }
    }

    /// The digits.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stop_at_zero_and_wrap_at_the_top() {
        assert_eq!(add(b"5", Delta::Up(3)), Some(8));
        assert_eq!(add(b"5", Delta::Down(9)), Some(0));
        assert_eq!(add(b"5", Delta::Down(u64::MAX)), Some(0));
        assert_eq!(add(b"18446744073709551615", Delta::Up(2)), Some(1));
        for text in [&b""[..], b"+5", b"-5", b" 5", b"5 ", b"5.0", b"18446744073709551616", b"\xff"]
        {
            assert_eq!(add(text, Delta::Up(1)), None, "{text:?}");
        }
    }

    #[test]
    fn digits_spell_the_smallest_and_the_largest_number() {
        assert_eq!(Digits::new(0).as_bytes(), b"0");
        assert_eq!(Digits::new(u64::MAX).as_bytes(), b"18446744073709551615");
    }
}
