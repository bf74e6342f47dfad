//! Reads of several entries together: by the prefix of their keys, and by tag.

use larder_store::{FoundEntry, Groups, Result, SetMode, SetOptions, SetOutcome, check_tag};

use super::connection::{Statement, Transactions, Value};
use super::many::KEY;
use super::operations::entry;
use super::session::SqlSession;
use super::statements::Statements;

impl<C: Transactions> SqlSession<C> {
    /// Passes on every entry that a statement finds at the time `now_ms`.
    fn find(
        &mut self,
        statement: fn(&Statements) -> &Statement,
        values: &[Value<'_>],
        now_ms: i64,
        found: &mut FoundEntry<'_>,
    ) -> Result<()> {
        let Self { operations, connection, counters, .. } = self;
        operations.requests.sent.add_one();
        connection.rows(statement(&operations.table.statements), values, &mut |row| {
            let (value, meta) = entry(row, now_ms)?;
            found(row.bytes(KEY)?, value, meta);
            counters.hits.add_one();
            Ok(())
        })
    }
}

impl<C: Transactions> Groups for SqlSession<C> {
    fn get_prefix(&mut self, prefix: &[u8], found: &mut FoundEntry<'_>) -> Result<()> {
        let now_ms = self.table().now_ms();
        let (now, from) = (Value::Integer(now_ms), Value::Bytes(prefix));
        match end_of(prefix) {
            Some(end) => {
                let values = [now, from, Value::Bytes(&end)];
                self.find(|statements| &statements.get_between, &values, now_ms, found)
            }
            None => self.find(|statements| &statements.get_from, &[now, from], now_ms, found),
        }
    }

    fn get_tag(&mut self, tag: &[u8], found: &mut FoundEntry<'_>) -> Result<()> {
        check_tag(self.table().engine, tag)?;
        let now_ms = self.table().now_ms();
        let values = [Value::Bytes(tag), Value::Integer(now_ms)];
        self.find(|statements| &statements.get_tag, &values, now_ms, found)
    }

    fn set_tagged(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: &[u8],
    ) -> Result<SetOutcome> {
        check_tag(self.table().engine, tag)?;
        match options.mode {
            SetMode::Append => self.table().unsupported("append with a tag"),
            SetMode::Prepend => self.table().unsupported("prepend with a tag"),
            _ => self.store(key, value, options, Value::Bytes(tag)),
        }
    }

    fn delete_tag(&mut self, tag: &[u8]) -> Result<u64> {
        check_tag(self.table().engine, tag)?;
        let Self { operations, connection, counters, .. } = self;
        let values = [Value::Bytes(tag), operations.now()];
        operations.requests.sent.add_one();
        let deleted = connection.change(&operations.table.statements.delete_tag, &values)?;
        counters.deletes.add(deleted);
        Ok(deleted)
    }
}

/// The smallest string of bytes above all strings with a prefix; `None` where there is no such string.
fn end_of(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_above_all_that_begin_with_it() {
        assert_eq!(end_of(b"page:").as_deref(), Some(&b"page;"[..]));
        assert_eq!(end_of(b"a\xfe").as_deref(), Some(&b"a\xff"[..]));
        assert_eq!(end_of(b"a\xff\xff").as_deref(), Some(&b"b"[..]));
        assert_eq!(end_of(b"\xff\xff"), None);
        assert_eq!(end_of(b""), None);
    }
}
