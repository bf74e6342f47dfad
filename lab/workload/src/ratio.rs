//! The mix of sets, gets and deletes.

use std::fmt;
use std::str::FromStr;

/// Sets to gets to deletes, like memtier's `--ratio` with a third number: `1:10`, `1:8:1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    /// Shares of sets.
    pub sets: u32,
    /// Shares of gets.
    pub gets: u32,
    /// Shares of deletes.
    pub deletes: u32,
}

/// The greatest number of shares of one kind; so the sum of all never overflows.
const LIMIT: u32 = 1_000_000;

impl FromStr for Ratio {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = |part: &str| match part.trim().parse::<u32>() {
            Ok(share) if share <= LIMIT => Ok(share),
            _ => Err(format!("ratio `{text}`: `{part}` is not a whole number up to {LIMIT}")),
        };
        let parts: Vec<u32> = text.split(':').map(share).collect::<Result<_, _>>()?;
        let ratio = match parts[..] {
            [sets, gets] => Self { sets, gets, deletes: 0 },
            [sets, gets, deletes] => Self { sets, gets, deletes },
            _ => {
                return Err(format!(
                    "ratio `{text}` is not set:get or set:get:delete; write 1:10 or 1:8:1"
                ));
            }
        };
        if parts.iter().all(|&share| share == 0) {
            return Err(format!("ratio `{text}` has no operation; write 1:10 or 1:8:1"));
        }
        Ok(ratio)
    }
}

impl fmt::Display for Ratio {
    /// The ratio with its words, because tools differ in the order of sets and gets: `1 set : 10 get`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} set : {} get", self.sets, self.gets)?;
        if self.deletes > 0 {
            write!(f, " : {} delete", self.deletes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_reads_as_numbers_and_shows_its_words() {
        for (text, shown) in [
            ("1:10", "1 set : 10 get"),
            ("1:0", "1 set : 0 get"),
            ("0:1", "0 set : 1 get"),
            ("1:8:1", "1 set : 8 get : 1 delete"),
            (" 2 : 3 ", "2 set : 3 get"),
        ] {
            assert_eq!(text.parse::<Ratio>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn a_wrong_ratio_is_refused_with_the_right_form() {
        for (text, needle) in [
            ("1", "is not set:get"),
            ("1:2:3:4", "is not set:get"),
            ("0:0", "has no operation"),
            ("0:0:0", "has no operation"),
            ("1:-1", "`-1` is not a whole number"),
            ("1:2000000", "up to 1000000"),
            ("", "is not a whole number"),
        ] {
            let error = text.parse::<Ratio>().unwrap_err();
            assert!(error.contains(needle) && !error.contains('\n'), "{error}");
        }
    }
}
