//! Every SQL text of the engine, made once a store.
//!
//! Row ids grow, so that the smallest is the row stored longest ago. A rewrite leaves the id alone and marks the
//! row; when its turn to make room comes, a marked row gets a new id in place of being dropped, and loses the mark:
//! the clock algorithm, with writes for references, and at no cost to writes that need no room.
//!
//! A version grows with each change of its row and begins with a number from the clock, so that a row that was
//! dropped and stored again does not begin where another began. No table of counters is written beside the row.
//!
//! The value stands last in its row, so that what is known of an entry is read without its overflow pages. The
//! table has row ids because a `WITHOUT ROWID` table keeps values in its inner pages: measured with 1 KiB values it
//! was three times slower in reading and writing, and with 100 bytes no more than a quarter faster.

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
    /// `[key, value, new version, deadline, flags]`.
    pub(super) set: String,
    /// As `set`, then `[now]`: changes a row only when the key was absent or expired.
    pub(super) add: String,
    /// As `add`, then `[version or NULL]`: changes a row only when the key is there, with that version.
    pub(super) replace: String,
    /// `[key, value, new version]`: another value for a key that is there.
    pub(super) set_value: String,
    /// `[key, deadline, now]`: changes a row only when the key is there.
    pub(super) touch: String,
    /// `[key, now]` gives whether the key was there and not expired.
    pub(super) delete: String,
    /// `[now, limit]`: drops rows that have expired, the earliest first.
    pub(super) expire: String,
    /// Gives the id of the row whose turn it is to make room, and whether it is marked; never the newest row.
    pub(super) oldest: String,
    /// `[id]`: gives a row a new id and takes its mark.
    pub(super) refile: String,
    /// `[id]` gives the bytes of key and value.
    pub(super) drop: String,
    /// Gives how many rows there are. SQLite counts them one by one.
    pub(super) count: String,
}

impl Statements {
    /// The statements on the table of a namespace.
    pub(super) fn new(namespace: &str) -> Self {
        let table = format!("\"{namespace}\"");
        // No namespace has a dot, so that this name meets no other table.
        let expiry = format!("\"{namespace}.expiry\"");
        let live = "(deadline_ms IS NULL OR deadline_ms >";
        let columns = "value, flags, version, deadline_ms";
        // Larger than the one before in any case, though the clock should go back.
        let rewritten = format!("version = max({table}.version + 1, ?3), rewritten = 1");
        let set = format!(
            "INSERT INTO {table} (key, value, version, deadline_ms, flags, rewritten) \
             VALUES (?1, ?2, ?3, ?4, ?5, 0) ON CONFLICT (key) DO UPDATE SET \
             value = excluded.value, deadline_ms = excluded.deadline_ms, flags = excluded.flags, \
             {rewritten}"
        );
        let get_many = |n: usize| {
            let keys: Vec<_> = (0..n).map(|i| format!("({i}, ?{})", i + 2)).collect();
            format!(
                "WITH wanted (place, key) AS (VALUES {}) SELECT place, {columns} \
                 FROM wanted CROSS JOIN {table} USING (key) WHERE {live} ?1)",
                keys.join(", ")
            )
        };
        let create = format!(
            "CREATE TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, \
             deadline_ms INTEGER, flags INTEGER NOT NULL, version INTEGER NOT NULL, \
             rewritten INTEGER NOT NULL, value BLOB NOT NULL) STRICT; \
             CREATE INDEX IF NOT EXISTS {expiry} ON {table} (deadline_ms) \
             WHERE deadline_ms IS NOT NULL;"
        );
        Self {
            clear: format!("DROP TABLE {table}; {create}"),
            create,
            get: format!("SELECT {columns} FROM {table} WHERE key = ?1 AND {live} ?2)"),
            get_many: (0..=MAX_BATCH.ilog2()).map(|power| get_many(1 << power)).collect(),
            add: format!("{set} WHERE {table}.deadline_ms <= ?6"),
            set,
            replace: format!(
                "UPDATE {table} SET value = ?2, deadline_ms = ?4, flags = ?5, {rewritten} \
                 WHERE key = ?1 AND {live} ?6) AND (?7 IS NULL OR version = ?7)"
            ),
            set_value: format!("UPDATE {table} SET value = ?2, {rewritten} WHERE key = ?1"),
            touch: format!("UPDATE {table} SET deadline_ms = ?2 WHERE key = ?1 AND {live} ?3)"),
            delete: format!("DELETE FROM {table} WHERE key = ?1 RETURNING {live} ?2)"),
            expire: format!(
                "DELETE FROM {table} WHERE id IN (SELECT id FROM {table} \
                 WHERE deadline_ms <= ?1 ORDER BY deadline_ms LIMIT ?2)"
            ),
            oldest: format!(
                "SELECT id, rewritten FROM {table} WHERE id < (SELECT max(id) FROM {table}) \
                 ORDER BY id LIMIT 1"
            ),
            refile: format!(
                "UPDATE {table} SET id = (SELECT max(id) + 1 FROM {table}), rewritten = 0 WHERE id = ?1"
            ),
            drop: format!(
                "DELETE FROM {table} WHERE id = ?1 RETURNING length(key) + length(value)"
            ),
            count: format!("SELECT count(*) FROM {table}"),
        }
    }
}
