//! URL options into an engine's struct: `depth=2&sync=on` into `{ depth: u8, sync: bool }`.
//!
//! A small serde deserializer of our own, because a message must name the option: "option `depth`: `x` is not
//! a whole number", not "invalid digit found in string".

use std::fmt;

use serde::de::value::MapDeserializer;
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Fills `T` from pairs of name and text. The error is one line for the person who typed the pairs.
pub(crate) fn from_pairs<'a, T: DeserializeOwned>(
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<T, String> {
    let pairs = pairs.map(|(name, text)| (name, Text { name, text }));
    T::deserialize(MapDeserializer::new(pairs)).map_err(|Problem(message)| message)
}

/// The message of an error.
#[derive(Debug)]
struct Problem(String);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        let known = if known.is_empty() { "none".into() } else { known.join(", ") };
        Self(format!("unknown option `{field}`; known: {known}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self(format!("option `{field}` is needed"))
    }
}

/// The text of one option, which becomes whatever type its field has.
#[derive(Clone, Copy)]
struct Text<'a> {
    name: &'a str,
    text: &'a str,
}

impl Text<'_> {
    fn problem(self, what: impl fmt::Display) -> Problem {
        Problem(format!("option `{}`: {what}", self.name))
    }

    /// Adds the option's name to a message of the field's own type.
    fn named<T>(self, result: Result<T, Problem>) -> Result<T, Problem> {
        result.map_err(|Problem(message)| self.problem(message))
    }
}

impl<'de> IntoDeserializer<'de, Problem> for Text<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $type:ty, $what:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
            let number: $type = self.text.parse().map_err(|_| {
                let range = format!("{} from {} to {}", $what, <$type>::MIN, <$type>::MAX);
                self.problem(format_args!("`{}` is not {range}", self.text))
            })?;
            self.named(visitor.$visit(number))
        }
    )*};
}

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.named(visitor.visit_str(self.text))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.text {
            "on" | "true" | "yes" | "1" => visitor.visit_bool(true),
            "off" | "false" | "no" | "0" => visitor.visit_bool(false),
            text => Err(self.problem(format_args!("`{text}` is not on or off"))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        if !variants.contains(&self.text) {
            let known = variants.join(", ");
            return Err(self.problem(format_args!("`{}` is not one of {known}", self.text)));
        }
        visitor.visit_enum(self.text.into_deserializer())
    }

    numbers! {
        deserialize_u8 visit_u8 u8, "a whole number";
        deserialize_u16 visit_u16 u16, "a whole number";
        deserialize_u32 visit_u32 u32, "a whole number";
        deserialize_u64 visit_u64 u64, "a whole number";
        deserialize_i8 visit_i8 i8, "a whole number";
        deserialize_i16 visit_i16 i16, "a whole number";
        deserialize_i32 visit_i32 i32, "a whole number";
        deserialize_i64 visit_i64 i64, "a whole number";
        deserialize_f64 visit_f64 f64, "a number";
    }

    forward_to_deserialize_any! {
        i128 u128 f32 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::ByteSize;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, deny_unknown_fields)]
    struct Options {
        depth: u8,
        sync: bool,
        size: Option<ByteSize>,
        mode: Mode,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        #[default]
        Text,
        Meta,
    }

    fn read(pairs: &[(&str, &str)]) -> Result<Options, String> {
        from_pairs(pairs.iter().copied())
    }

    #[test]
    fn each_text_becomes_its_field() {
        let pairs = [("depth", "3"), ("sync", "on"), ("size", "4k"), ("mode", "meta")];
        let read = read(&pairs).unwrap();
        let size = Some(ByteSize(4096));
        assert_eq!(read, Options { depth: 3, sync: true, size, mode: Mode::Meta });
        assert_eq!(super::from_pairs([].into_iter()), Ok(Options::default()));
    }

    #[test]
    fn a_wrong_option_is_named_with_the_right_form() {
        for (name, text, message) in [
            ("dept", "3", "unknown option `dept`; known: depth, sync, size, mode"),
            ("depth", "300", "option `depth`: `300` is not a whole number from 0 to 255"),
            ("sync", "maybe", "option `sync`: `maybe` is not on or off"),
            ("size", "big", "option `size`: `big` is not a size; write 4096, 4k, 64m or 1g"),
            ("mode", "binary", "option `mode`: `binary` is not one of text, meta"),
        ] {
            assert_eq!(read(&[(name, text)]).unwrap_err(), message);
        }
    }
}
