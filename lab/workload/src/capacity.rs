//! The capacity of a target, as typed.

use std::fmt;
use std::str::FromStr;

use larder_store::ByteSize;

/// A capacity: a share of the bytes to be stored, or a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Capacity {
    /// A share of the bytes of all keys and values, in percent, above 0.
    Percent(f64),
    /// A size.
    Bytes(ByteSize),
}

impl Capacity {
    /// The capacity in bytes, given the bytes of all keys and values; at least one.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a number of bytes"
    )]
    pub fn bytes_of(self, working_set: u64) -> u64 {
        match self {
            Self::Percent(percent) => (working_set as f64 * percent / 100.0).round() as u64,
            Self::Bytes(ByteSize(bytes)) => bytes,
        }
        .max(1)
    }
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Bytes(bytes) => f.pad(&bytes.typed()),
        }
    }
}

impl FromStr for Capacity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a capacity above 0; write 10% or 64m");
        let capacity = match text.trim().strip_suffix('%') {
            Some(percent) => {
                let percent = percent.trim().parse().map_err(|_| wrong())?;
                Self::Percent(percent)
            }
            None => Self::Bytes(text.parse().map_err(|_| wrong())?),
        };
        let is_some = match capacity {
            Self::Percent(percent) => percent > 0.0 && percent <= 1e6,
            Self::Bytes(ByteSize(bytes)) => bytes > 0,
        };
        if is_some { Ok(capacity) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sweep;
    use super::*;

    #[test]
    fn capacities_read_as_shares_and_as_sizes() {
        let sweep: Sweep<Capacity> = "1%,2.5%,64m".parse().unwrap();
        let bytes: Vec<u64> = sweep.iter().map(|capacity| capacity.bytes_of(1000)).collect();
        assert_eq!((bytes, sweep.to_string()), (vec![10, 25, 64 << 20], "1%,2.5%,64m".to_owned()));
        assert_eq!("0.001%".parse::<Capacity>().unwrap().bytes_of(1000), 1);
        for text in ["0%", "-1%", "nan%", "inf%", "%", "0", "much", "10 percent"] {
            let error = text.parse::<Capacity>().unwrap_err();
            assert!(error.ends_with("write 10% or 64m"), "{error}");
        }
    }
}
