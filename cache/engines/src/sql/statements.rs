//! Every statement on entries, made once for each store.
//!
//! The session chooses each version, and never the same one twice. So it knows the version of a write, and a row that is
//! stored again after it was dropped does not repeat an older version. No table of counters is written beside the row.
//!
//! Deadlines and times are milliseconds since 1970, by the clock of the client.

use super::connection::Statement;
use super::dialect::{Dialect, Lookup, Names, StoreMany, Upsert};
use super::places::{Argument, Keys, render};

/// The statements on one table. The values of each are given in brackets, in their order. Statements that read give the
/// columns value, flags, version, deadline, and then key if they may find many entries.
#[derive(Debug)]
pub struct Statements {
    /// The statements that make the table, one after the other; they are not prepared.
    pub create: Vec<String>,
    /// `[key, now]`: reads one entry.
    pub get: Statement,
    /// `[now, keys]`: reads many. With [`Lookup::Array`] there is one statement, otherwise one for each power of two.
    pub get_many: Vec<Statement>,
    /// `[now, from]`: reads the entries whose keys are `from` or above.
    pub get_from: Statement,
    /// `[now, from, below]`: reads the entries whose keys are `from` or above, and below `below`.
    pub get_between: Statement,
    /// `[tag, now]`: reads the entries with a tag.
    pub get_tag: Statement,
    /// `[key, now]`: as `get`, with the length of the value in place of the value.
    pub look: Statement,
    /// `[now, keys]`: the keys that exist, in column 0. Locks the rows in the order of their keys, until the transaction
    /// ends. There is one for each power of two with [`Lookup::List`], and not one otherwise.
    pub lock_many: Vec<Statement>,
    /// `[keys]`: as `lock_many`, with [`Lookup::Array`] alone; tells nothing.
    pub lock_in_order: Option<Statement>,
    /// `[now, keys]`: deletes the entries with these keys. As `get_many`, with an array it gives the keys that it
    /// deleted, in column 0. Empty where entries are deleted one by one.
    pub delete_many: Vec<Statement>,
    /// Stores many entries in any case, whose keys differ. With [`StoreMany::Arrays`] there is one statement,
    /// `[keys, values, versions, deadlines, flags]`. With [`StoreMany::Lists`] there is one for each power of two,
    /// with key, value, version, deadline and flags of each row.
    pub set_many: Vec<Statement>,
    /// `[key, now]`: the version of an entry, in column 0.
    pub version: Statement,
    /// `[key, value, version, deadline, flags, tag]`: stores in any case.
    pub set: Statement,
    /// As `set`, then `[now]`: stores when the key is absent.
    pub add: Statement,
    /// As `add`: stores when the key exists.
    pub replace: Statement,
    /// As `add`, then `[only]`: stores when the key exists with that version.
    pub cas: Statement,
    /// `[key, value, version, now, only]`: gives an entry another value, if it still has the version `only`.
    pub set_value: Statement,
    /// `[key, value, version, now, limit]`: puts the value behind an old value of at most `limit` bytes.
    pub append: Statement,
    /// As `append`, but puts the value before the old one.
    pub prepend: Statement,
    /// `[key, deadline, now]`: gives an entry another deadline.
    pub touch: Statement,
    /// As `touch`, then `[only]`: if the entry still has this version.
    pub touch_if: Statement,
    /// `[key, now]`: deletes an entry. A row that has expired may stay, for `expire`.
    pub delete: Statement,
    /// As `delete`, then `[only]`: deletes an entry that has this version.
    pub delete_if: Statement,
    /// `[tag, now]`: deletes the entries with a tag.
    pub delete_tag: Statement,
    /// `[]`: removes all rows.
    pub clear: Statement,
    /// `[now, limit]`: deletes at most `limit` expired rows, the earliest first.
    pub expire: Statement,
    /// `[]`: how many rows there are, in column 0. Most databases count them one by one.
    pub count: Statement,
    /// The way in which `get_many` takes its keys.
    pub(super) lookup: Lookup,
    /// The way in which `set_many` takes its entries.
    pub(super) store_many: StoreMany,
    /// Whether an update that leaves its row as it was counts as a change.
    pub(super) counts_found: bool,
    /// The number of statements to prepare.
    pub n_prepared: usize,
}

impl Statements {
    /// The statements on a table. The table's name needs no escapes in quotes and has no dot; `options` are the
    /// dialect's options for making a table.
    pub fn new(dialect: &Dialect, table: &str, options: &str) -> Self {
        StatementWriter { dialect, names: dialect.names(table), n_prepared: 0 }.statements(options)
    }
}

/// Columns of an entry that is read.
const COLUMNS: &str = "value, flags, version, deadline_ms";

/// Holds for a row that has not expired.
const LIVE: &str = "(deadline_ms IS NULL OR deadline_ms > :now)";

/// The values of an entry that is stored.
const ENTRY: [Argument; 6] = [
    Argument::Key,
    Argument::Value,
    Argument::Version,
    Argument::Deadline,
    Argument::Flags,
    Argument::Tag,
];

/// Reads the entries for which a condition holds.
fn many(Names { table, key, .. }: &Names, condition: &str) -> String {
    format!("SELECT {COLUMNS}, {key} FROM {table} WHERE {condition} AND {LIVE}")
}

/// 1, 2, 4 … up to the largest.
fn powers(largest: usize) -> impl Iterator<Item = usize> {
    (0..=largest.ilog2()).map(|power| 1 << power)
}

/// Writes statements, and numbers them.
struct StatementWriter<'d> {
    dialect: &'d Dialect,
    names: Names,
    n_prepared: usize,
}

impl StatementWriter<'_> {
    fn statements(mut self, options: &str) -> Statements {
        let Names { table, key, .. } = &self.names;
        let (table, key) = (table.clone(), key.clone());
        let Dialect { create, clear, expire, joined, counts_found, .. } = *self.dialect;
        let (create, clear) = (create(&self.names, options), clear(&self.names));
        let expire = expire(&self.names);
        let one = format!("FROM {table} WHERE {key} = :key AND {LIVE}");
        let from = many(&self.names, &format!("{key} >= :from"));
        let between = many(&self.names, &format!("{key} >= :from AND {key} < :below"));
        let tagged = many(&self.names, "tag = :tag");
        let updated = self.dialect.further.updated;
        let update = format!("UPDATE {table} SET version = :version{updated}, value =");
        let entry = "deadline_ms = :deadline, flags = :flags, tag = :tag";
        let there = format!("WHERE {key} = :key AND {LIVE}");
        let fits = "AND length(value) <= :limit";
        let (behind, before) = (joined("value", ":value"), joined(":value", "value"));
        let joining =
            [Argument::Key, Argument::Value, Argument::Version, Argument::Now, Argument::Limit];
        let only_if = |last: &[Argument]| [&ENTRY, last].concat();
        Statements {
            create,
            get: self.one(&[Argument::Key, Argument::Now], &format!("SELECT {COLUMNS} {one}")),
            get_many: self.get_many(),
            look: {
                let columns = format!("{}, flags, version, deadline_ms", self.dialect.value_len);
                self.one(&[Argument::Key, Argument::Now], &format!("SELECT {columns} {one}"))
            },
            lock_many: self.lock_many(),
            lock_in_order: self.lock_in_order(),
            delete_many: self.delete_many(),
            set_many: self.set_many(),
            get_from: self.write(&[Argument::Now, Argument::From], &from),
            get_between: self.write(&[Argument::Now, Argument::From, Argument::Below], &between),
            get_tag: self.write(&[Argument::Tag, Argument::Now], &tagged),
            version: self.one(&[Argument::Key, Argument::Now], &format!("SELECT version {one}")),
            set: self.upsert(&ENTRY, None),
            add: self.upsert(&only_if(&[Argument::Now]), Some("deadline_ms <= :now")),
            replace: self
                .write(&only_if(&[Argument::Now]), &format!("{update} :value, {entry} {there}")),
            cas: self.write(
                &only_if(&[Argument::Now, Argument::Only]),
                &format!("{update} :value, {entry} {there} AND version = :only"),
            ),
            set_value: self.write(
                &[Argument::Key, Argument::Value, Argument::Version, Argument::Now, Argument::Only],
                &format!("{update} :value {there} AND version = :only"),
            ),
            append: self.write(&joining, &format!("{update} {behind} {there} {fits}")),
            prepend: self.write(&joining, &format!("{update} {before} {there} {fits}")),
            touch: self.write(
                &[Argument::Key, Argument::Deadline, Argument::Now],
                &format!("UPDATE {table} SET deadline_ms = :deadline {there}"),
            ),
            touch_if: self.write(
                &[Argument::Key, Argument::Deadline, Argument::Now, Argument::Only],
                &format!("UPDATE {table} SET deadline_ms = :deadline {there} AND version = :only"),
            ),
            delete: self.write(&[Argument::Key, Argument::Now], &format!("DELETE {one}")),
            delete_if: self.write(
                &[Argument::Key, Argument::Now, Argument::Only],
                &format!("DELETE {one} AND version = :only"),
            ),
            delete_tag: self.write(
                &[Argument::Tag, Argument::Now],
                &format!("DELETE FROM {table} WHERE tag = :tag AND {LIVE}"),
            ),
            clear: self.write(&[], &clear),
            expire: self.write(&[Argument::Now, Argument::Limit], &expire),
            count: self.one(&[], &format!("SELECT count(*) FROM {table}")),
            lookup: self.dialect.lookup,
            store_many: self.dialect.store_many,
            counts_found,
            n_prepared: self.n_prepared,
        }
    }

    fn write(&mut self, places: &[Argument], template: &str) -> Statement {
        self.write_for(places, Keys::Array, template)
    }

    /// A statement that finds at most one row.
    fn one(&mut self, places: &[Argument], template: &str) -> Statement {
        Statement { finds_one: true, ..self.write(places, template) }
    }

    fn write_for(&mut self, places: &[Argument], keys: Keys, template: &str) -> Statement {
        let id = self.n_prepared;
        self.n_prepared += 1;
        Statement { id, ..render(self.dialect.style, places, keys, template) }
    }

    fn get_many(&mut self) -> Vec<Statement> {
        let Names { table, key, .. } = &self.names;
        let (keys, template) = match self.dialect.lookup {
            Lookup::Array => {
                let wanted = format!("{key} = ANY (:keys)");
                (vec![Keys::Array], many(&self.names, &wanted))
            }
            Lookup::List(most) => {
                let wanted = format!("{key} IN (:keys)");
                (powers(most).map(Keys::List).collect(), many(&self.names, &wanted))
            }
            // `CROSS` keeps SQLite from walking the table and searching the list.
            Lookup::Joined(most) => {
                let template = format!(
                    "WITH wanted (place, {key}) AS (VALUES :keys) SELECT {COLUMNS}, place \
                     FROM wanted CROSS JOIN {table} USING ({key}) WHERE {LIVE}"
                );
                (powers(most).map(Keys::Pairs).collect(), template)
            }
        };
        let places = [Argument::Now, Argument::Keys];
        keys.into_iter().map(|keys| self.write_for(&places, keys, &template)).collect()
    }

    /// An array needs no such statement, because its delete gives the keys.
    fn lock_many(&mut self) -> Vec<Statement> {
        let Names { table, key, .. } = &self.names;
        let Lookup::List(most) = self.dialect.lookup else { return Vec::new() };
        // By another index, the rows would be locked in another order.
        let lock = format!(
            "SELECT {key} FROM {table} FORCE INDEX (PRIMARY) WHERE {key} IN (:keys) AND {LIVE} \
             ORDER BY {key} FOR UPDATE"
        );
        let places = [Argument::Now, Argument::Keys];
        powers(most).map(|n| self.write_for(&places, Keys::List(n), &lock)).collect()
    }

    fn lock_in_order(&mut self) -> Option<Statement> {
        let Names { table, key, .. } = &self.names;
        let lock =
            format!("SELECT FROM {table} WHERE {key} = ANY (:keys) ORDER BY {key} FOR UPDATE");
        let is_array = self.dialect.lookup == Lookup::Array;
        is_array.then(|| self.write(&[Argument::Keys], &lock))
    }

    fn delete_many(&mut self) -> Vec<Statement> {
        let Names { table, key, .. } = &self.names;
        let places = [Argument::Now, Argument::Keys];
        match self.dialect.lookup {
            Lookup::Array => {
                let delete = format!(
                    "DELETE FROM {table} WHERE {key} = ANY (:keys) AND {LIVE} RETURNING {key}"
                );
                vec![self.write(&places, &delete)]
            }
            Lookup::List(most) => {
                let delete = format!("DELETE FROM {table} WHERE {key} IN (:keys) AND {LIVE}");
                powers(most).map(|n| self.write_for(&places, Keys::List(n), &delete)).collect()
            }
            Lookup::Joined(_) => Vec::new(),
        }
    }

    fn set_many(&mut self) -> Vec<Statement> {
        let insert = self.insert();
        match self.dialect.store_many {
            StoreMany::OneByOne => Vec::new(),
            StoreMany::Arrays => {
                let places = [
                    Argument::Keys,
                    Argument::Values,
                    Argument::Versions,
                    Argument::Deadlines,
                    Argument::FlagsOfAll,
                ];
                let store = format!(
                    "{insert} SELECT *, CAST(NULL AS bytea) \
                     FROM unnest(:keys, :values, :versions, :deadlines, :flagsofall) {}",
                    self.or_update(None)
                );
                vec![self.write(&places, &store)]
            }
            StoreMany::Lists(most) => {
                let store = format!("{insert} VALUES :rows {}", self.or_update(None));
                let rows = powers(most).map(Keys::Rows);
                rows.map(|rows| self.write_for(&[Argument::Rows], rows, &store)).collect()
            }
        }
    }

    /// Stores an entry; replaces an existing row only if `condition` holds for that row.
    fn upsert(&mut self, places: &[Argument], condition: Option<&str>) -> Statement {
        let template = format!(
            "{} VALUES (:key, :value, :version, :deadline, :flags, :tag{}) {}",
            self.insert(),
            self.dialect.further.inserted,
            self.or_update(condition)
        );
        self.write(places, &template)
    }

    /// The beginning of an insert, before its values.
    fn insert(&self) -> String {
        let Names { table, key, .. } = &self.names;
        let columns = self.dialect.further.columns;
        format!("INSERT INTO {table} ({key}, value, version, deadline_ms, flags, tag{columns})")
    }

    /// The end of an insert: an existing row is replaced only if `condition` holds for that row.
    fn or_update(&self, condition: Option<&str>) -> String {
        let Names { table, key, .. } = &self.names;
        let updated = self.dialect.further.updated;
        match self.dialect.upsert {
            Upsert::OnConflict => {
                let condition = condition
                    .map_or(String::new(), |condition| format!(" WHERE {table}.{condition}"));
                format!(
                    "ON CONFLICT ({key}) DO UPDATE SET value = excluded.value, \
                     version = excluded.version, flags = excluded.flags, tag = excluded.tag, \
                     deadline_ms = excluded.deadline_ms{updated}{condition}"
                )
            }
            Upsert::OnDuplicateKey => {
                let copied = |column: &str| match condition {
                    Some(condition) => {
                        format!("{column} = if({condition}, values({column}), {column})")
                    }
                    None => format!("{column} = values({column})"),
                };
                // The deadline comes last, because the conditions of the other columns must see the old deadline.
                let assignments = ["value", "version", "flags", "tag", "deadline_ms"].map(copied);
                format!("ON DUPLICATE KEY UPDATE {}{updated}", assignments.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::{MYSQL, POSTGRESQL, SQLITE};

    fn written(dialect: &Dialect) -> Statements {
        Statements::new(dialect, "t", "")
    }

    #[test]
    fn each_dialect_stores_over_expired_entries_only() {
        let on_conflict = |statements: Statements, sign: &str| {
            let sql = statements.add.sql;
            let (insert, update) = sql.split_once(" ON CONFLICT (\"key\") DO UPDATE SET ").unwrap();
            assert!(
                insert.contains(&format!("VALUES ({sign}1, {sign}2, {sign}3, {sign}4")),
                "{sql}"
            );
            assert!(update.starts_with("value = excluded.value, "), "{sql}");
            let condition = format!(" WHERE \"t\".deadline_ms <= {sign}7");
            assert!(update.ends_with(&condition), "{sql}");
            assert_eq!(statements.set.sql, sql.strip_suffix(&condition).unwrap());
        };
        on_conflict(written(&SQLITE), "?");
        on_conflict(written(&POSTGRESQL), "$");
        assert_eq!(
            written(&MYSQL).add.sql,
            "INSERT INTO `t` (`key`, value, version, deadline_ms, flags, tag) \
             VALUES (?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE \
             value = if(deadline_ms <= ?, values(value), value), \
             version = if(deadline_ms <= ?, values(version), version), \
             flags = if(deadline_ms <= ?, values(flags), flags), \
             tag = if(deadline_ms <= ?, values(tag), tag), \
             deadline_ms = if(deadline_ms <= ?, values(deadline_ms), deadline_ms)"
        );
    }

    #[test]
    fn each_dialect_looks_many_keys_up_in_its_way() {
        let third = |dialect| written(dialect).get_many[2].sql.clone();
        assert_eq!(
            third(&SQLITE),
            "WITH wanted (place, \"key\") AS (VALUES (0, ?2), (1, ?3), (2, ?4), (3, ?5)) \
             SELECT value, flags, version, deadline_ms, place FROM wanted \
             CROSS JOIN \"t\" USING (\"key\") WHERE (deadline_ms IS NULL OR deadline_ms > ?1)"
        );
        assert_eq!(
            third(&MYSQL),
            "SELECT value, flags, version, deadline_ms, `key` FROM `t` \
             WHERE `key` IN (?, ?, ?, ?) AND (deadline_ms IS NULL OR deadline_ms > ?)"
        );
        assert_eq!(
            written(&POSTGRESQL).get_many[0].sql,
            "SELECT value, flags, version, deadline_ms, \"key\" FROM \"t\" \
             WHERE \"key\" = ANY ($2) AND (deadline_ms IS NULL OR deadline_ms > $1)"
        );
    }

    #[test]
    fn each_dialect_stores_many_entries_in_its_way() {
        assert!(written(&SQLITE).set_many.is_empty());
        assert_eq!(
            written(&POSTGRESQL).set_many[0].sql,
            "INSERT INTO \"t\" (\"key\", value, version, deadline_ms, flags, tag) \
             SELECT *, CAST(NULL AS bytea) FROM unnest($1, $2, $3, $4, $5) \
             ON CONFLICT (\"key\") DO UPDATE SET value = excluded.value, \
             version = excluded.version, flags = excluded.flags, tag = excluded.tag, \
             deadline_ms = excluded.deadline_ms"
        );
        assert_eq!(
            written(&MYSQL).set_many[1].sql,
            "INSERT INTO `t` (`key`, value, version, deadline_ms, flags, tag) \
             VALUES (?, ?, ?, ?, ?, NULL), (?, ?, ?, ?, ?, NULL) ON DUPLICATE KEY UPDATE \
             value = values(value), version = values(version), flags = values(flags), \
             tag = values(tag), deadline_ms = values(deadline_ms)"
        );
    }

    #[test]
    fn every_statement_has_a_place_of_its_own() {
        for dialect in [&SQLITE, &POSTGRESQL, &MYSQL] {
            let Statements { n_prepared, get, get_many, set, count, delete_tag, .. } =
                written(dialect);
            let mut ids: Vec<_> = get_many.iter().map(|statement| statement.id).collect();
            ids.extend([get.id, set.id, count.id, delete_tag.id]);
            assert!(ids.iter().all(|id| *id < n_prepared), "{ids:?} of {n_prepared}");
            let n_ids = ids.len();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), n_ids, "{ids:?}");
        }
    }
}
