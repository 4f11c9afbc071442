//! Tables of one scope of the store must have different tags.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use crate::workspace;

/// Crates whose tables share a scope.
const SCOPES: [(&str, &[&str]); 4] = [
    ("the node", &["storage", "chain", "shared-memory", "keystore", "node"]),
    ("an asset-VM chain", &["xvm"]),
    ("an EVM chain", &["evm-state", "evm", "nat"]),
    ("the P-Chain", &["platform"]),
];

/// Tables that share the tag of another one on purpose: path, name.
const SHARED: [(&str, &str); 1] = [("crates/xvm/src/state/tables.rs", "utxo")];

pub(super) fn breaches() -> Result<Vec<String>> {
    let sources = workspace::files()?.into_iter().filter_map(|file| {
        let is_source = file.extension().is_some_and(|e| e == "rs") && is_of_crate(&file);
        let name = file.to_string_lossy().into_owned();
        is_source.then(|| workspace::text(&file).map(|text| (name, text)))?
    });
    Ok(faults(sources))
}

/// Whether a file is of a crate, and not of the tests.
fn is_of_crate(file: &Path) -> bool {
    let parts: Vec<_> = file.iter().collect();
    parts.len() > 3
        && parts[0] == "crates"
        && parts[1] != "testkit"
        && parts[2] == "src"
        && !parts.iter().any(|p| *p == "tests")
}

fn faults(sources: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let mut seen = BTreeMap::new();
    let mut wrong = Vec::new();
    for (file, text) in sources {
        let of_crate = file.split('/').nth(1).unwrap_or_default();
        let scope = SCOPES.iter().find(|(_, crates)| crates.contains(&of_crate));
        for (tag, table) in tables(&text) {
            let Some((scope, _)) = scope else {
                wrong.push(format!("{file}: table {table}: its crate is not in the list of xtask/src/tidy/tables.rs"));
                continue;
            };
            if SHARED.contains(&(file.as_str(), table.as_str())) {
                continue;
            }
            let here = format!("table {table} of {file}");
            if let Some(other) = seen.insert((*scope, tag.clone()), here.clone()) {
                wrong.push(format!(
                    "{here} has tag {tag}, as has {other}: both are tables of {scope}"
                ));
            }
        }
    }
    wrong
}

/// Tag and name of each table that a source file declares outside its tests.
fn tables(text: &str) -> Vec<(String, String)> {
    const NEW: &str = "Table::new(0x";
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = lines.collect::<Vec<_>>().join(" ");
    let declarations = code.split(NEW).skip(1);
    let table = |rest: &str| {
        let (tag, rest) = rest.split_once(',')?;
        let name = rest.split('"').nth(1)?;
        Some((format!("0x{tag}"), name.to_owned()))
    };
    declarations.filter_map(table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sources: &[(&str, &str)]) -> Vec<String> {
        faults(sources.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())))
    }

    #[test]
    fn a_tag_used_twice_in_a_scope_is_reported() {
        let account = r#"const A: Table<u8, u8> = Table::new(0x40, "account");"#;
        let slot = "const B: Table<u8, u8> =\n    Table::new(0x40, \"slot\");\n// Table::new(0x40, \"old\")";
        let wrong = check(&[("crates/nat/src/a.rs", account), ("crates/evm/src/b.rs", slot)]);
        let expected = "table slot of crates/evm/src/b.rs has tag 0x40, as has table account of crates/nat/src/a.rs: \
                        both are tables of an EVM chain";
        assert_eq!(wrong, [expected]);
        let separate = [("crates/nat/src/a.rs", account), ("crates/xvm/src/b.rs", slot)];
        assert_eq!(check(&separate), [""; 0]);
        let in_tests = format!("#[cfg(test)]\nmod tests {{ {account} }}");
        assert_eq!(
            check(&[("crates/nat/src/a.rs", account), ("crates/evm/src/b.rs", &in_tests)]),
            [""; 0]
        );
        assert_eq!(check(&[("crates/rpc/src/a.rs", account)]).len(), 1);
    }
}
