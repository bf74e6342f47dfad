//! Several values of one option, measured one after the other.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

/// The values of an option, measured in turn, in the order given; at least one.
///
/// A `;` separates them. Where the text has neither `;` nor `:`, a comma separates them too. So `4k,72k` sweeps two
/// sizes, `list:4k:1,72k:1` is one distribution that mixes them, and `4k;list:4k:1,72k:1` sweeps both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep<T>(Vec<T>);

impl<T> From<T> for Sweep<T> {
    fn from(only: T) -> Self {
        Self(vec![only])
    }
}

impl<T> FromIterator<T> for Sweep<T> {
    /// Requires at least one value.
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<T> Deref for Sweep<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> FromStr for Sweep<T>
where
    T: FromStr<Err: fmt::Display> + PartialEq,
{
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let separator = if text.contains([';', ':']) { ';' } else { ',' };
        let mut values = Vec::new();
        for part in text.split(separator).map(str::trim) {
            let value = part.parse().map_err(|error: T::Err| error.to_string())?;
            if values.contains(&value) {
                return Err(format!("`{part}` is given twice in `{text}`"));
            }
            values.push(value);
        }
        Ok(Self(values))
    }
}

impl<T: fmt::Display> fmt::Display for Sweep<T> {
    /// The text that reads back as the same values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.0.iter().map(T::to_string).collect();
        let plain = !values.iter().any(|value| value.contains(':'));
        f.pad(&values.join(if plain { "," } else { ";" }))
    }
}
