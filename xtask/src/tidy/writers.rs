//! The writers to the store must be those of the table in ARCHITECTURE.md.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};

use crate::source::functions::closing;
use crate::source::tokens::{Token, tokens};
use crate::workspace;

/// The page with the table of writers.
const PAGE: &str = "ARCHITECTURE.md";
/// The head of the table. Its last column names files.
const HEAD: &str = "| Writer | Writes | Files |";

/// Methods of the store's writer that take a set; no other type has methods of these names.
const QUEUES: &[&str] = &[
    "commit_all_when_writable",
    "commit_blocking",
    "commit_when_writable",
    "commit_with",
    "enqueue_all_when_writable",
    "enqueue_blocking",
];
/// The name of a method that the EVM's database has, too.
const COMMIT: &str = "commit";
const EVM_DATABASE: &str = "database";
/// Methods that write without the writer, and the names of the stores on which they are called.
const DIRECT: &[&str] = &["write", "write_all", "reset"];
const STORES: &[&str] = &["kv", "store"];

/// Files that pass the writes of others on, up to the database.
const PASSES_ON: &[&str] = &[
    "crates/node/src/metrics/store.rs",
    "crates/storage/src/lmdb/env.rs",
    "crates/storage/src/store.rs",
];

/// The crate that only tests use.
const TEST_SUPPORT: &str = "crates/testkit/";

pub(super) fn breaches() -> Result<Vec<String>> {
    let page = workspace::text(Path::new(PAGE)).context("ARCHITECTURE.md is text")?;
    let mut writes = Vec::new();
    for file in workspace::files()? {
        let name = file.to_string_lossy();
        if is_production(&name) && !PASSES_ON.contains(&name.as_ref()) {
            let text = workspace::text(&file).unwrap_or_default();
            let lines = lines_that_write(&tokens(&text));
            writes.extend(lines.into_iter().map(|line| (name.to_string(), line)));
        }
    }
    Ok(compare(&writes, &listed(&page)))
}

fn is_production(name: &str) -> bool {
    let in_source = name.starts_with("crates/") || name.starts_with("bin/");
    let is_test =
        name.starts_with(TEST_SUPPORT) || name.contains("/tests/") || name.ends_with("/tests.rs");
    in_source && name.contains("/src/") && name.ends_with(".rs") && !is_test
}

/// The files in the table of writers.
fn listed(page: &str) -> BTreeSet<&str> {
    let (_, table) = page.split_once(HEAD).unwrap_or_default();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let last = rows.filter_map(|row| row.trim_end_matches('|').rsplit('|').next());
    last.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

/// Files that write and are not listed, and listed files that do not write.
fn compare(writes: &[(String, usize)], listed: &BTreeSet<&str>) -> Vec<String> {
    let unlisted = writes.iter().filter(|(file, _)| !listed.contains(file.as_str()));
    let mut wrong: Vec<String> = unlisted
        .map(|(file, line)| {
            format!("{file}:{line} writes to the store and is not in the table of {PAGE}")
        })
        .collect();
    let idle = listed.iter().filter(|name| !writes.iter().any(|(file, _)| file == *name));
    wrong.extend(idle.map(|file| format!("{file} is in the table of {PAGE} and writes nothing")));
    wrong
}

/// The lines with a call that writes to the store, outside of test modules.
fn lines_that_write(tokens: &[Token]) -> Vec<usize> {
    let tests = test_module(tokens);
    let calls = tokens.windows(4).enumerate().filter(|(at, call)| {
        let [dot, method, open, next] = call else { return false };
        let (true, Some(name), true) = (dot.is('.'), method.word(), open.is('(')) else {
            return false;
        };
        let receiver = receiver(&tokens[..*at]);
        let writes = QUEUES.contains(&name)
            || (name == COMMIT && !next.is(')') && receiver != Some(EVM_DATABASE))
            || (DIRECT.contains(&name) && receiver.is_some_and(|name| STORES.contains(&name)));
        writes && !tests.contains(at)
    });
    calls.map(|(_, call)| call[1].line).collect()
}

/// The last name before a method call: a field, or a method without arguments.
fn receiver(before: &[Token]) -> Option<&str> {
    let question = before.iter().rev().take_while(|token| token.is('?')).count();
    match &before[..before.len().saturating_sub(question)] {
        [.., name, open, close] if open.is('(') && close.is(')') => name.word(),
        [.., name] => name.word(),
        [] => None,
    }
}

/// The tokens of the file's own test module.
fn test_module(tokens: &[Token]) -> std::ops::Range<usize> {
    let starts = tokens.windows(6).position(|window| {
        let [cfg, _, test, _, _, module] = window else { return false };
        cfg.word() == Some("cfg") && test.word() == Some("test") && module.word() == Some("mod")
    });
    let open = starts.map(|start| start.saturating_add(7));
    match open.filter(|open| tokens.get(*open).is_some_and(|token| token.is('{'))) {
        Some(open) => open..closing(tokens, open),
        None => 0..0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, lines: &[usize]) {
        assert_eq!(lines_that_write(&tokens(text)), lines, "{text}");
    }

    #[test]
    fn calls_that_write() {
        check("fn f() {\n    store.writer.commit_blocking(out)?;\n}", &[2]);
        check("self.store()?.commit(out).await", &[1]);
        check("self.0.commit(out)", &[1]);
        check("machine\n.store()\n.commit(out)", &[3]);
        check("self.store.kv.reset(&keep, set)", &[1]);
        check("store.write(&set)", &[1]);
    }

    #[test]
    fn calls_that_write_elsewhere() {
        check("self.runner.commit()?; state.database.commit(state); out.write(&x);", &[]);
        check("// store.commit(out)\nfn commit(set: WriteSet) {}", &[]);
        check("#[cfg(test)]\nmod tests { fn f() { store.commit(out) } }\nstore.commit(out);", &[3]);
    }

    #[test]
    fn the_table_and_the_code_have_the_same_files() {
        let page =
            format!("{HEAD}\n|---|---|---|\n| a | `x` | `a.rs`, `b.rs` |\n\n| c | | `c.rs` |");
        let listed = listed(&page);
        assert_eq!(listed, BTreeSet::from(["a.rs", "b.rs"]));
        let writes = |files: &[&str]| -> Vec<(String, usize)> {
            files.iter().map(|file| ((*file).to_owned(), 7)).collect()
        };
        assert_eq!(compare(&writes(&["a.rs", "b.rs", "b.rs"]), &listed), Vec::<String>::new());
        assert_eq!(
            compare(&writes(&["a.rs", "z.rs"]), &listed),
            [
                "z.rs:7 writes to the store and is not in the table of ARCHITECTURE.md",
                "b.rs is in the table of ARCHITECTURE.md and writes nothing"
            ]
        );
    }
}
