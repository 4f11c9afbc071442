//! The length of functions.

use anyhow::Result;

use crate::source::functions::functions;
use crate::source::tokens::tokens;
use crate::workspace;

/// Most lines of a function, from `fn` to its closing brace.
const MOST: usize = 100;
/// Longer functions: file, name, most lines, reason. The number may fall and never rise. An entry that is not needed
/// is an error.
const LONGER: &[(&str, &str, usize, &str)] = &[
    ("crates/chain/tests/it/snapshot.rs", "lies", 156, "a row for each case"),
    (
        "crates/xvm/tests/it/vm/keys.rs",
        "arguments_are_checked_in_the_order_of_the_reference",
        173,
        "a row for each case",
    ),
    ("tests/e2e/tests/hostile/demands.rs", "of_evm", 364, "a row for each method"),
    ("tests/e2e/tests/it/evm_methods.rs", "cases", 286, "a row for each method"),
    (
        "tests/e2e/tests/it/followers/snapshot.rs",
        "a_snapshot_that_is_altered_is_refused",
        122,
        "the steps of one story",
    ),
    (
        "tests/e2e/tests/it/validator_followers.rs",
        "nothing_without_a_quorum_of_the_network_becomes_final",
        115,
        "the steps of one story",
    ),
    (
        "tests/e2e/tests/it/validator_rotation.rs",
        "validators_go_from_four_to_five_to_four_and_a_key_is_replaced",
        128,
        "the steps of one story",
    ),
];

pub(super) fn breaches() -> Result<Vec<String>> {
    let mut long = Vec::new();
    for file in workspace::files()? {
        if file.extension().is_some_and(|extension| extension == "rs") {
            let name = file.to_string_lossy();
            long.extend(long_functions(&name, &workspace::text(&file).unwrap_or_default()));
        }
    }
    Ok(compare(&long, LONGER))
}

/// A function that is too long for one without an entry.
#[derive(Debug, PartialEq, Eq)]
struct Long {
    file: String,
    line: usize,
    name: String,
    lines: usize,
}

fn long_functions(file: &str, text: &str) -> Vec<Long> {
    functions(&tokens(text))
        .into_iter()
        .filter(|function| function.lines > MOST)
        .map(|f| Long { file: file.to_owned(), line: f.line, name: f.name, lines: f.lines })
        .collect()
}

fn compare(long: &[Long], entries: &[(&str, &str, usize, &str)]) -> Vec<String> {
    let is_for =
        |function: &Long, file: &str, name: &str| function.file == file && function.name == name;
    let mut wrong = Vec::new();
    for function in long {
        let entry = entries.iter().find(|(file, name, ..)| is_for(function, file, name));
        let most = entry.map_or(MOST, |(.., most, _)| *most);
        if function.lines > most {
            let Long { file, line, name, lines } = function;
            wrong.push(format!("{file}:{line}: {name} has {lines} lines, at most {most}"));
        }
    }
    for (file, name, most, _) in entries {
        if !long.iter().any(|function| is_for(function, file, name) && function.lines == *most) {
            wrong.push(format!("{file}: {name} does not have {most} lines: adapt its entry"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lines: usize) -> String {
        format!("fn a() {{{}}}\n", "\n".repeat(lines.saturating_sub(1)))
    }

    #[test]
    fn long_functions_are_refused() {
        let long = long_functions("a.rs", &format!("{}{}", function(MOST), function(101)));
        assert_eq!(compare(&long, &[]), ["a.rs:101: a has 101 lines, at most 100"]);
        assert_eq!(compare(&long, &[("a.rs", "a", 101, "why")]), Vec::<String>::new());
    }

    #[test]
    fn entries_follow_their_functions() {
        let entry = [("a.rs", "a", 120, "why")];
        let of = |lines| compare(&long_functions("a.rs", &function(lines)), &entry);
        assert_eq!(
            of(121),
            [
                "a.rs:1: a has 121 lines, at most 120",
                "a.rs: a does not have 120 lines: adapt its entry"
            ]
        );
        assert_eq!(of(120), Vec::<String>::new());
        assert_eq!(of(119), ["a.rs: a does not have 120 lines: adapt its entry"]);
        assert_eq!(of(3), ["a.rs: a does not have 120 lines: adapt its entry"]);
    }
}
