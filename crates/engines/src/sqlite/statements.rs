//! Every SQL text of the engine, made once a store.
//!
//! A row's id is the version that it was stored with, and a rewrite leaves the id alone; so the row with the
//! smallest id is the oldest, unless its version says that it was rewritten. Then it is filed anew under that
//! version, at most once a rewrite, and only when its turn comes: least recently written first, at no cost to
//! writes that need no room.
//!
//! The value stands last in its row, so that what is known of an entry is read without its overflow pages. The
//! table has row ids because a `WITHOUT ROWID` table keeps values in its inner pages: measured with 1 KiB values it
//! was three times slower in reading and writing, and with 100 bytes no more than a quarter faster.

/// What an entry counts beside its key and its value: the row's other columns, and its line in the index of keys.
pub(super) const ROW_OVERHEAD: u64 = 40;

/// The most keys that one statement looks up.
pub(super) const MAX_BATCH: usize = 64;

/// The statements on one table. The order of their parameters is given in brackets; deadlines and times are
/// milliseconds since 1970, and a deadline of NULL is never.
#[derive(Debug)]
pub(super) struct Statements {
    /// What a new file needs.
    pub(super) create: String,
    /// Everything out, by making the table anew.
    pub(super) clear: String,
    /// `[key, now]` gives value, flags, version, deadline.
    pub(super) get: String,
    /// For 1, 2, 4 … [`MAX_BATCH`] keys: `[now, key …]` gives the key's place, then as `get`. NULL is no key.
    pub(super) get_many: Vec<String>,
    /// `[key, deadline, flags, value]`.
    pub(super) set: String,
    /// As `set`, then `[now]`: changes a row only when the key was absent or expired.
    pub(super) add: String,
    /// As `add`, then `[version or NULL]`: changes a row only when the key is there, with that version.
    pub(super) replace: String,
    /// `[key, value]`: another value for a key that is there.
    pub(super) set_value: String,
    /// `[key, deadline, now]`: changes a row only when the key is there.
    pub(super) touch: String,
    /// `[key, now]` gives whether the key was there and not expired.
    pub(super) delete: String,
    /// `[now, limit]`: rows that have expired, the earliest first.
    pub(super) expire: String,
    /// Gives id and version of the row whose turn it is to make room.
    pub(super) oldest: String,
    /// `[id]`: files a row anew under its version.
    pub(super) refile: String,
    /// `[id]`.
    pub(super) drop: String,
    /// Gives the bytes that all entries count, and how many they are.
    pub(super) usage: String,
}

impl Statements {
    /// The statements on the table of a namespace.
    pub(super) fn new(namespace: &str) -> Self {
        // No namespace has a dot, so that these names meet no other table.
        let table = format!("\"{namespace}\"");
        let usage = format!("\"{namespace}.usage\"");
        let live = "(deadline_ms IS NULL OR deadline_ms >";
        let columns = "value, flags, version, deadline_ms";
        let next = format!("(SELECT version + 1 FROM {usage})");
        let create_table = create_table(namespace);
        let set = format!(
            "INSERT INTO {table} (id, key, deadline_ms, flags, version, value) \
             VALUES ({next}, ?1, ?2, ?3, {next}, ?4) \
             ON CONFLICT (key) DO UPDATE SET deadline_ms = excluded.deadline_ms, \
             flags = excluded.flags, version = excluded.version, value = excluded.value"
        );
        let get_many = |n: usize| {
            let keys: Vec<_> = (0..n).map(|i| format!("({i}, ?{})", i + 2)).collect();
            format!(
                "WITH wanted (place, key) AS (VALUES {}) SELECT place, {columns} \
                 FROM wanted CROSS JOIN {table} USING (key) WHERE {live} ?1)",
                keys.join(", ")
            )
        };
        Self {
            create: format!(
                "CREATE TABLE IF NOT EXISTS {usage} \
                 (bytes INTEGER NOT NULL, items INTEGER NOT NULL, version INTEGER NOT NULL) STRICT; \
                 INSERT INTO {usage} SELECT 0, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM {usage}); \
                 {create_table}"
            ),
            clear: format!(
                "DROP TABLE {table}; {create_table} UPDATE {usage} SET bytes = 0, items = 0;"
            ),
            get: format!("SELECT {columns} FROM {table} WHERE key = ?1 AND {live} ?2)"),
            get_many: (0..=MAX_BATCH.ilog2()).map(|power| get_many(1 << power)).collect(),
            add: format!("{set} WHERE {table}.deadline_ms <= ?5"),
            set,
            replace: format!(
                "UPDATE {table} SET deadline_ms = ?2, flags = ?3, value = ?4, version = {next} \
                 WHERE key = ?1 AND {live} ?5) AND (?6 IS NULL OR version = ?6)"
            ),
            set_value: format!("UPDATE {table} SET value = ?2, version = {next} WHERE key = ?1"),
            touch: format!("UPDATE {table} SET deadline_ms = ?2 WHERE key = ?1 AND {live} ?3)"),
            delete: format!("DELETE FROM {table} WHERE key = ?1 RETURNING {live} ?2)"),
            expire: format!(
                "DELETE FROM {table} WHERE id IN (SELECT id FROM {table} \
                 WHERE deadline_ms <= ?1 ORDER BY deadline_ms LIMIT ?2)"
            ),
            oldest: format!("SELECT id, version FROM {table} ORDER BY id LIMIT 1"),
            refile: format!("UPDATE {table} SET id = version WHERE id = ?1"),
            drop: format!("DELETE FROM {table} WHERE id = ?1"),
            usage: format!("SELECT bytes, items FROM {usage}"),
        }
    }
}

/// The table with what belongs to it: all of this goes when the table is dropped.
fn create_table(namespace: &str) -> String {
    let named = |part: &str| format!("\"{namespace}.{part}\"");
    let (table, usage) = (format!("\"{namespace}\""), named("usage"));
    let [expiry, inserted, updated, deleted] =
        ["expiry", "inserted", "updated", "deleted"].map(named);
    format!(
        "CREATE TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, \
         deadline_ms INTEGER, flags INTEGER NOT NULL, version INTEGER NOT NULL, value BLOB NOT NULL) STRICT; \
         CREATE INDEX IF NOT EXISTS {expiry} ON {table} (deadline_ms) WHERE deadline_ms IS NOT NULL; \
         CREATE TRIGGER IF NOT EXISTS {inserted} AFTER INSERT ON {table} BEGIN UPDATE {usage} SET \
         bytes = bytes + length(new.key) + length(new.value) + {ROW_OVERHEAD}, items = items + 1, \
         version = new.version; END; \
         CREATE TRIGGER IF NOT EXISTS {updated} AFTER UPDATE OF value ON {table} BEGIN UPDATE {usage} SET \
         bytes = bytes + length(new.value) - length(old.value), version = new.version; END; \
         CREATE TRIGGER IF NOT EXISTS {deleted} AFTER DELETE ON {table} BEGIN UPDATE {usage} SET \
         bytes = bytes - length(old.key) - length(old.value) - {ROW_OVERHEAD}, items = items - 1; END; "
    )
}
