//! Numbers of things in messages, so that no line tells of `1 keys`.

use std::fmt::Display;

/// A number of things: `1 check`, `3 checks`, `0 entries`.
pub fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let noun = noun_after(number, noun);
    format!("{number} {noun}")
}

/// The noun as it follows a number that is written in another way: `check` after 1, and else `checks`.
pub fn noun_after<N: Copy + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) {
        return noun.to_owned();
    }
    match noun.strip_suffix('y') {
        // Not of `key`, `delay` or `array`.
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if noun.ends_with("ss") => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// The verb or pronoun that agrees with a number: `is` for 1, and else `are`.
pub fn agreeing<'w, N: Copy + PartialEq + From<u8>>(
    number: N,
    one: &'w str,
    several: &'w str,
) -> &'w str {
    if number == N::from(1) { one } else { several }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_their_number() {
        assert_eq!(count(1, "round"), "1 round");
        assert_eq!(count(0_u64, "round"), "0 rounds");
        assert_eq!(count(2_usize, "key"), "2 keys");
        assert_eq!(count(2_u32, "entry"), "2 entries");
        assert_eq!(count(1_u32, "entry"), "1 entry");
        assert_eq!(count(3_u8, "process"), "3 processes");
        assert_eq!([0_u64, 1, 2].map(|n| agreeing(n, "is", "are")), ["are", "is", "are"]);
        assert_eq!(format!("1,000 {}", noun_after(1000, "row")), "1,000 rows");
    }
}
