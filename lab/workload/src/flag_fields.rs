//! Fields of a scenario, in the form of their flags.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

/// Reads a scenario's field in the form of its flag: text, a number, true or false, or a list in place of commas.
pub fn text<'de, D: Deserializer<'de>, T: FromStr>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T::Err: fmt::Display,
{
    let Typed(text) = Typed::deserialize(deserializer)?;
    text.parse().map(Some).map_err(de::Error::custom)
}

/// Any scalar as text; a list as text with commas in between.
struct Typed(String);

impl<'de> Deserialize<'de> for Typed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsTyped;
        impl<'de> Visitor<'de> for AsTyped {
            type Value = Typed;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, a number, a yes or no, or a list of these")
            }
            fn visit_str<E>(self, text: &str) -> Result<Typed, E> {
                Ok(Typed(text.into()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Typed, E> {
                Ok(Typed(number.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Typed, E> {
                Ok(Typed(number.to_string()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Typed, E> {
                Ok(Typed(number.to_string()))
            }
            fn visit_bool<E>(self, yes: bool) -> Result<Typed, E> {
                Ok(Typed(yes.to_string()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Typed, A::Error> {
                let mut parts = Vec::new();
                while let Some(Typed(part)) = list.next_element()? {
                    parts.push(part);
                }
                // A distribution's own text has commas, so a sweep over distributions is separated by semicolons.
                let separator = if parts.iter().any(|part| part.contains(':')) { ";" } else { "," };
                Ok(Typed(parts.join(separator)))
            }
        }
        deserializer.deserialize_any(AsTyped)
    }
}
