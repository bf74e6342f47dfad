//! Places in a statement: written by name, rendered as a dialect's placeholders.
//!
//! A statement is written once, with `:key` at every place of a key. Dialects that number their placeholders take each
//! value once; the others take a value again at each of its places.

use std::fmt::Write;

use super::connection::{Placeholder, Statement};

/// The arguments of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument {
    /// The key of the entry.
    Key,
    /// Many keys: always the last of the values.
    Keys,
    /// The value of the entry.
    Value,
    /// The version that the entry gets.
    Version,
    /// The version that the entry must have.
    Only,
    /// When the entry expires; NULL is never.
    Deadline,
    /// The flags of the entry.
    Flags,
    /// The tag of the entry; NULL means no tag.
    Tag,
    /// The time.
    Now,
    /// The smallest key of a range; [`Argument::Below`] is the smallest key above the range.
    From,
    /// See [`Argument::From`].
    Below,
    /// The largest number of rows, or of bytes.
    Limit,
    /// Many entries as rows: always the last of the values, with [`ROW`] for each row.
    Rows,
    /// The values of many entries, as an array.
    Values,
    /// Their versions.
    Versions,
    /// When they expire.
    Deadlines,
    /// Their flags.
    FlagsOfAll,
}

/// The types of the values of a row: key, value, version, deadline, flags.
const ROW: [ArgumentType; 5] = [
    ArgumentType::Bytes,
    ArgumentType::Bytes,
    ArgumentType::Integer,
    ArgumentType::Integer,
    ArgumentType::Integer,
];

/// The type of the value in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentType {
    /// A string of bytes.
    Bytes,
    /// A number of 64 bits.
    Integer,
    /// An array of strings of bytes.
    Array,
    /// An array of numbers.
    Integers,
}

impl Argument {
    const ALL: [Self; 17] = [
        Self::Key,
        Self::Keys,
        Self::Value,
        Self::Version,
        Self::Only,
        Self::Deadline,
        Self::Flags,
        Self::Tag,
        Self::Now,
        Self::From,
        Self::Below,
        Self::Limit,
        Self::Rows,
        Self::Values,
        Self::Versions,
        Self::Deadlines,
        Self::FlagsOfAll,
    ];

    /// The name of the place in statements, after a colon.
    fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Keys => "keys",
            Self::Value => "value",
            Self::Version => "version",
            Self::Only => "only",
            Self::Deadline => "deadline",
            Self::Flags => "flags",
            Self::Tag => "tag",
            Self::Now => "now",
            Self::From => "from",
            Self::Below => "below",
            Self::Limit => "limit",
            Self::Rows => "rows",
            Self::Values => "values",
            Self::Versions => "versions",
            Self::Deadlines => "deadlines",
            Self::FlagsOfAll => "flagsofall",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.name() == name)
    }

    fn kind(self) -> ArgumentType {
        match self {
            Self::Key | Self::Value | Self::Tag | Self::From | Self::Below => ArgumentType::Bytes,
            Self::Keys | Self::Values => ArgumentType::Array,
            Self::Versions | Self::Deadlines | Self::FlagsOfAll => ArgumentType::Integers,
            _ => ArgumentType::Integer,
        }
    }
}

/// The form of a dialect's placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A sign and a number, which may come again: `?1`, `$1`.
    Numbered(char),
    /// A question mark, for the next value.
    Unnumbered,
}

/// The text in place of [`Argument::Keys`] or [`Argument::Rows`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// One placeholder, for an array.
    Array,
    /// This many placeholders: `?, ?`.
    List(usize),
    /// This many placeholders, with their places in the list: `(0, ?), (1, ?)`.
    Pairs(usize),
    /// This many rows, each without a tag: `(?, ?, ?, ?, ?, NULL)`.
    Rows(usize),
}

/// Renders a statement whose values come in the order of `places`.
pub(super) fn render(style: Style, places: &[Argument], keys: Keys, template: &str) -> Statement {
    let mut sql = String::with_capacity(template.len());
    let mut placeholders = Vec::new();
    let mut put = |sql: &mut String, value: usize, kind: ArgumentType| {
        if let Style::Unnumbered = style {
            placeholders.push(Placeholder { value, kind });
        }
        // Writing to a string cannot fail.
        let _ = match style {
            Style::Numbered(sign) => write!(sql, "{sign}{}", value + 1),
            Style::Unnumbered => write!(sql, "?"),
        };
    };
    let mut rest = template;
    while let Some((text, behind)) = rest.split_once(':') {
        sql.push_str(text);
        let end = behind.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(behind.len());
        let (name, behind) = behind.split_at(end);
        let named = Argument::named(name);
        let value = places.iter().position(|place| Some(*place) == named);
        let (Some(place), Some(value)) = (named, value) else {
            unreachable!("a statement has no place `:{name}`: {template}");
        };
        match keys {
            Keys::List(n_keys) | Keys::Pairs(n_keys) if place == Argument::Keys => {
                for key in 0..n_keys {
                    sql.push_str(if key == 0 { "" } else { ", " });
                    if let Keys::Pairs(_) = keys {
                        let _ = write!(sql, "({key}, ");
                        put(&mut sql, value + key, ArgumentType::Bytes);
                        sql.push(')');
                    } else {
                        put(&mut sql, value + key, ArgumentType::Bytes);
                    }
                }
            }
            Keys::Rows(n_rows) if place == Argument::Rows => {
                for row in 0..n_rows {
                    sql.push_str(if row == 0 { "(" } else { ", (" });
                    for (column, kind) in ROW.into_iter().enumerate() {
                        put(&mut sql, value + row * ROW.len() + column, kind);
                        sql.push_str(", ");
                    }
                    sql.push_str("NULL)");
                }
            }
            _ => put(&mut sql, value, place.kind()),
        }
        rest = behind;
    }
    sql.push_str(rest);
    if let Style::Numbered(_) = style {
        placeholders = numbered(places, keys);
    }
    Statement { id: 0, sql, finds_one: false, placeholders }
}

/// The placeholders of a statement that numbers them: the values, each once.
fn numbered(places: &[Argument], keys: Keys) -> Vec<Placeholder> {
    let kinds = places.iter().flat_map(|place| match keys {
        Keys::List(n_keys) | Keys::Pairs(n_keys) if *place == Argument::Keys => {
            vec![ArgumentType::Bytes; n_keys]
        }
        Keys::Rows(n_rows) if *place == Argument::Rows => ROW.repeat(n_rows),
        _ => vec![place.kind()],
    });
    kinds.enumerate().map(|(value, kind)| Placeholder { value, kind }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::connection::Value;

    const PLACES: &[Argument] = &[Argument::Now, Argument::Keys];
    const TEMPLATE: &str = "SELECT 1 WHERE key IN (:keys) AND (a > :now OR b > :now)";

    fn order(statement: &Statement) -> Vec<Value<'static>> {
        let values = [Value::Integer(0), Value::Integer(1), Value::Integer(2)];
        statement.in_order(&values).collect()
    }

    #[test]
    fn numbered_placeholders_take_each_value_once() {
        let two = render(Style::Numbered('?'), PLACES, Keys::List(2), TEMPLATE);
        assert_eq!(two.sql, "SELECT 1 WHERE key IN (?2, ?3) AND (a > ?1 OR b > ?1)");
        assert_eq!(order(&two), [0, 1, 2].map(Value::Integer));
        let pairs = render(Style::Numbered('?'), PLACES, Keys::Pairs(2), "VALUES :keys");
        assert_eq!(pairs.sql, "VALUES (0, ?2), (1, ?3)");
        let array = render(Style::Numbered('$'), PLACES, Keys::Array, TEMPLATE);
        assert_eq!(array.sql, "SELECT 1 WHERE key IN ($2) AND (a > $1 OR b > $1)");
        assert_eq!(array.kinds().collect::<Vec<_>>(), [ArgumentType::Integer, ArgumentType::Array]);
    }

    #[test]
    fn unnumbered_placeholders_take_a_value_at_each_place() {
        let two = render(Style::Unnumbered, PLACES, Keys::List(2), TEMPLATE);
        assert_eq!(two.sql, "SELECT 1 WHERE key IN (?, ?) AND (a > ? OR b > ?)");
        assert_eq!(order(&two), [1, 2, 0, 0].map(Value::Integer));
        let kinds = [
            ArgumentType::Bytes,
            ArgumentType::Bytes,
            ArgumentType::Integer,
            ArgumentType::Integer,
        ];
        assert_eq!(two.kinds().collect::<Vec<_>>(), kinds);
    }

    #[test]
    fn rows_take_their_values_one_after_the_other() {
        let two = render(Style::Unnumbered, &[Argument::Rows], Keys::Rows(2), "VALUES :rows");
        assert_eq!(two.sql, "VALUES (?, ?, ?, ?, ?, NULL), (?, ?, ?, ?, ?, NULL)");
        let values: Vec<_> = (0..10).map(Value::Integer).collect();
        assert_eq!(two.in_order(&values).collect::<Vec<_>>(), values);
    }

    #[test]
    #[should_panic(expected = "a statement has no place `:key`")]
    fn a_place_that_a_statement_is_not_given_is_noticed() {
        render(Style::Unnumbered, PLACES, Keys::Array, ":key");
    }
}
