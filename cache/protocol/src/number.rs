//! Decimal numbers, without the formatting machinery, which would be a third of the cost of a request.

/// The decimal number at the beginning of `text`, and the rest; `None` where there is no number or it does not fit.
#[inline]
pub(crate) fn leading_u64(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    let mut n_digits = 0;
    while let Some(digit) = text.get(n_digits).map(|byte| byte.wrapping_sub(b'0'))
        && digit <= 9
    {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        n_digits += 1;
    }
    let (digits, rest) = text.split_at_checked(n_digits)?;
    match n_digits {
        0 => None,
        // 19 digits always fit.
        1..20 => Some((number, rest)),
        _ => Some((checked(digits)?, rest)),
    }
}

/// The number of a long row of digits; `None` where it does not fit.
#[cold]
fn checked(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, byte| {
        number.checked_mul(10)?.checked_add(u64::from(byte.wrapping_sub(b'0')))
    })
}

/// All of `text` as a decimal number; `None` where it is not a number or does not fit.
#[inline]
pub(crate) fn parse_u64(text: &[u8]) -> Option<u64> {
    leading_u64(text).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| number)
}

/// Like [`parse_u64`], with a sign.
#[inline]
pub(crate) fn parse_i64(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(digits) => 0_i64.checked_sub_unsigned(parse_u64(digits)?),
        None => i64::try_from(parse_u64(text)?).ok(),
    }
}

/// Appends `number` in decimal.
#[inline]
pub(crate) fn push_u64(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

/// Appends `number` in decimal, with its sign.
#[inline]
pub(crate) fn push_i64(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    push_u64(out, number.unsigned_abs());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_there_and_back() {
        for number in [0, 1, 9, 10, 12_345, u64::MAX] {
            let mut text = Vec::new();
            push_u64(&mut text, number);
            assert_eq!(text, number.to_string().as_bytes());
            assert_eq!(parse_u64(&text), Some(number));
        }
        for number in [i64::MIN, -1, 0, i64::MAX] {
            let mut text = Vec::new();
            push_i64(&mut text, number);
            assert_eq!(text, number.to_string().as_bytes());
            assert_eq!(parse_i64(&text), Some(number));
        }
    }

    #[test]
    fn a_text_that_is_no_number_is_refused() {
        for text in ["", "-", "1x", " 1", "+1", "18446744073709551616", "1e3"] {
            assert_eq!(parse_u64(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_i64(b"9223372036854775808"), None);
    }
}
