//! The differences between databases in the text of the same statement.

use super::places::Style;

/// The SQL of one kind of database.
///
/// In every dialect the table has the columns `key`, `value`, `flags`, `version`, `deadline_ms` and `tag`, and keys
/// compare as bytes.
#[derive(Debug)]
pub struct Dialect {
    /// The style of placeholders.
    pub style: Style,
    /// The quotes around a name.
    pub quote: char,
    /// The statements that make the table and its indices where they are missing, one after the other. The text has the
    /// table's options, which the engine chooses; each dialect decides where they stand.
    pub create: fn(&Names, &str) -> Vec<String>,
    /// The statement that removes all rows, but leaves the table.
    pub clear: fn(&Names) -> String,
    /// The clause of an insert for a key that exists.
    pub upsert: Upsert,
    /// The way to look up many keys.
    pub lookup: Lookup,
    /// The way to store many plain entries.
    pub store_many: StoreMany,
    /// The length of the column `value`, as a number of 64 bits.
    pub value_len: &'static str,
    /// The concatenation of two strings of bytes.
    pub joined: fn(&str, &str) -> String,
    /// The statement that deletes at most `:limit` rows that had expired at `:now`, the earliest first.
    pub expire: fn(&Names) -> String,
    /// The additions for a column that other dialects do not have.
    pub further: Further,
    /// Whether an update that leaves its row as it was counts as a change.
    pub counts_found: bool,
}

/// The names of a table and its indices, in quotes.
#[derive(Debug)]
pub struct Names {
    /// The table.
    pub table: String,
    /// The table's column `key`, which is a word of the language in some dialects.
    pub key: String,
    /// The index of deadlines.
    pub expiry: String,
    /// The index of tags.
    pub tags: String,
}

/// The clause of an insert for a key that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upsert {
    /// `ON CONFLICT (key) DO UPDATE SET … WHERE …`.
    OnConflict,
    /// `ON DUPLICATE KEY UPDATE …`, which has no condition: each assignment has its own, and sees the values that the
    /// assignments before it made.
    OnDuplicateKey,
}

/// The way to look up keys with one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// As one array, of any length.
    Array,
    /// As a list: there is a statement for 1, 2, 4 … keys up to this many, a power of two. Places without a key are
    /// NULL.
    List(usize),
    /// As a list that is joined to the table, which takes SQLite a third less time (measured) than to search by a list.
    /// The answer has the places of keys in the list instead of the keys.
    Joined(usize),
}

/// The way to store many entries in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreMany {
    /// One statement for each entry, because a statement costs no round trip.
    OneByOne,
    /// One statement with an array for each column.
    Arrays,
    /// One statement with a list of rows: there is one for 1, 2, 4 … rows up to this many, a power of two. An entry may
    /// come again, to fill the list.
    Lists(usize),
}

/// The additions to lists for a column that only one dialect has; each begins with a comma.
#[derive(Debug, Clone, Copy)]
pub struct Further {
    /// To the columns of an insert.
    pub columns: &'static str,
    /// To its values.
    pub inserted: &'static str,
    /// To the assignments of an update.
    pub updated: &'static str,
}

impl Dialect {
    /// The names of a table and its indices. No engine's own name has a dot, so that a name with a dot meets no other
    /// table.
    pub(super) fn names(&self, table: &str) -> Names {
        let quote = self.quote;
        Names {
            table: format!("{quote}{table}{quote}"),
            key: format!("{quote}key{quote}"),
            expiry: format!("{quote}{table}.expiry{quote}"),
            tags: format!("{quote}{table}.tags{quote}"),
        }
    }
}

/// SQLite. The id of a row and its mark `rewritten` are for eviction (see `sqlite/eviction.rs`).
///
/// The value stands last in its row, so that the metadata of an entry is read without its overflow pages. The table has
/// row ids because a `WITHOUT ROWID` table keeps values in its inner pages. Measured with 1 KiB values it was three
/// times slower in reading and writing, and with 100 bytes at most a quarter faster.
pub const SQLITE: Dialect = Dialect {
    style: Style::Numbered('?'),
    quote: '"',
    create: |Names { table, key, expiry, tags }, _| {
        vec![
            format!(
                "CREATE TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY, \
                 {key} BLOB NOT NULL UNIQUE, deadline_ms INTEGER, flags INTEGER NOT NULL, \
                 version INTEGER NOT NULL, rewritten INTEGER NOT NULL, tag BLOB, \
                 value BLOB NOT NULL) STRICT"
            ),
            format!(
                "CREATE INDEX IF NOT EXISTS {expiry} ON {table} (deadline_ms) \
                 WHERE deadline_ms IS NOT NULL"
            ),
            format!("CREATE INDEX IF NOT EXISTS {tags} ON {table} (tag) WHERE tag IS NOT NULL"),
        ]
    },
    clear: |Names { table, .. }| format!("DELETE FROM {table}"),
    upsert: Upsert::OnConflict,
    lookup: Lookup::Joined(64),
    store_many: StoreMany::OneByOne,
    value_len: "length(value)",
    // SQLite's concatenation is text, with the bytes unchanged.
    joined: |one, other| format!("CAST({one} || {other} AS BLOB)"),
    expire: |Names { table, .. }| {
        format!(
            "DELETE FROM {table} WHERE id IN (SELECT id FROM {table} \
             WHERE deadline_ms <= :now ORDER BY deadline_ms LIMIT :limit)"
        )
    },
    further: Further { columns: ", rewritten", inserted: ", 0", updated: ", rewritten = 1" },
    counts_found: true,
};

/// The longest key of an index of PostgreSQL: a third of a page, less the head of an entry.
pub const POSTGRESQL_MAX_KEY_LEN: usize = 2692;

/// PostgreSQL. The options of a table stand before the word `TABLE`: `UNLOGGED`.
pub const POSTGRESQL: Dialect = Dialect {
    style: Style::Numbered('$'),
    quote: '"',
    create: |Names { table, key, expiry, tags }, options| {
        vec![
            format!(
                "CREATE {options} TABLE IF NOT EXISTS {table} ({key} bytea PRIMARY KEY, \
                 deadline_ms bigint, flags bigint NOT NULL, version bigint NOT NULL, tag bytea, \
                 value bytea NOT NULL)"
            ),
            format!(
                "CREATE INDEX IF NOT EXISTS {expiry} ON {table} (deadline_ms) \
                 WHERE deadline_ms IS NOT NULL"
            ),
            format!("CREATE INDEX IF NOT EXISTS {tags} ON {table} (tag) WHERE tag IS NOT NULL"),
        ]
    },
    clear: |Names { table, .. }| format!("TRUNCATE {table}"),
    upsert: Upsert::OnConflict,
    lookup: Lookup::Array,
    store_many: StoreMany::Arrays,
    value_len: "CAST(length(value) AS bigint)",
    joined: |one, other| format!("{one} || {other}"),
    // PostgreSQL checks a row that changes meanwhile again before it deletes the row, so the condition comes twice.
    expire: |Names { table, key, .. }| {
        format!(
            "DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} \
             WHERE deadline_ms <= :now ORDER BY deadline_ms LIMIT :limit) AND deadline_ms <= :now"
        )
    },
    further: Further { columns: "", inserted: "", updated: "" },
    counts_found: true,
};

/// The longest key of an index of `InnoDB`.
pub const MYSQL_MAX_KEY_LEN: usize = 3072;

/// MySQL and MariaDB. The options of a table stand behind its columns: `ENGINE = InnoDB`.
pub const MYSQL: Dialect = Dialect {
    style: Style::Unnumbered,
    quote: '`',
    // No index of MySQL can leave out the rows with NULL in the column.
    create: |Names { table, key, expiry, tags }, options| {
        vec![format!(
            "CREATE TABLE IF NOT EXISTS {table} ({key} VARBINARY({MYSQL_MAX_KEY_LEN}) NOT NULL, \
             deadline_ms BIGINT, flags BIGINT NOT NULL, version BIGINT NOT NULL, \
             tag VARBINARY({}), value LONGBLOB NOT NULL, PRIMARY KEY ({key}), \
             KEY {expiry} (deadline_ms), KEY {tags} (tag)) {options}",
            larder_store::MAX_TAG_LEN
        )]
    },
    clear: |Names { table, .. }| format!("TRUNCATE TABLE {table}"),
    upsert: Upsert::OnDuplicateKey,
    lookup: Lookup::List(256),
    store_many: StoreMany::Lists(256),
    value_len: "length(value)",
    joined: |one, other| format!("concat({one}, {other})"),
    expire: |Names { table, .. }| {
        format!("DELETE FROM {table} WHERE deadline_ms <= :now ORDER BY deadline_ms LIMIT :limit")
    },
    further: Further { columns: "", inserted: "", updated: "" },
    counts_found: false,
};
