//! The query plans of the statements in SQLite, and files in a forked child.

use rusqlite::Connection;

use larder_host::scratch::ScratchDir;
use larder_store::{SetOptions, StoreUrl};
use larder_testkit::{fork, has_succeeded};

use crate::ENGINES;
use crate::sql::dialect::SQLITE;
use crate::sql::statements::Statements;

/// Reads, writes, expiry and groups use an index: only counting walks the table.
#[test]
fn no_statement_scans() {
    let database = Connection::open_in_memory().unwrap();
    let statements = Statements::new(&SQLITE, "cache", "");
    for create in &statements.create {
        database.execute_batch(create).unwrap();
    }
    let all = &statements;
    let one_entry = [
        &all.get,
        &all.version,
        &all.look,
        &all.replace,
        &all.cas,
        &all.set_value,
        &all.append,
        &all.prepend,
        &all.touch,
        &all.touch_if,
        &all.delete,
        &all.delete_if,
    ];
    let many = [&all.get_from, &all.get_between].into_iter().chain(&all.get_many);
    let by_key = one_entry.into_iter().chain(many).map(|one| (one, "autoindex"));
    let by_tag = [(&all.get_tag, "cache.tags"), (&all.delete_tag, "cache.tags")];
    let others = by_tag.into_iter().chain([(&all.expire, "cache.expiry")]);
    for (statement, index) in by_key.chain(others) {
        let explain = format!("EXPLAIN QUERY PLAN {}", statement.sql);
        let mut plan = database.prepare(&explain).unwrap();
        let mut rows = plan.raw_query();
        let mut lines: Vec<String> = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            lines.push(row.get(3).unwrap());
        }
        assert!(lines.iter().any(|line| line.contains(index)), "{}: {lines:?}", statement.sql);
        let scans = lines.iter().any(|line| line.starts_with("SCAN cache"));
        assert!(!scans, "{}: {lines:?}", statement.sql);
    }
}

#[test]
fn a_forked_child_opens_no_file_that_was_open() {
    let folder = ScratchDir::create("sqlite").unwrap();
    let url = format!("sqlite:{}/cache.db", folder.path().display());
    let open = |url: &str| ENGINES.open(&StoreUrl::parse(url).unwrap());
    let set = |url: &str| {
        let mut session = open(url).unwrap().session().unwrap();
        session.set(b"key", b"value", &SetOptions::default()).unwrap();
    };
    let store = open(&url).unwrap();
    let child = fork(|| {
        let error = open(&url).unwrap_err().to_string();
        assert!(error.contains("cache.db was open when this process was forked"), "{error}");
        set(&format!("{url}2"));
        // A child of the child has the list of both.
        assert!(has_succeeded(fork(|| assert!(open(&url).is_err()))));
    });
    assert!(has_succeeded(child));
    set(&url);
    drop(store);
    assert!(has_succeeded(fork(|| set(&url))));
}
