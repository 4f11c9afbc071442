//! The arrows between crates: the allowed dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace;

/// Each package, including planned ones, and those of our packages that it may name. It may also name those that
/// these may name.
const ARROWS: &[(&str, &[&str])] = &[
    ("esker-primitives", &[]),
    ("esker-artifacts", &["esker-primitives"]),
    ("esker-storage", &["esker-primitives"]),
    ("esker-set-hash", &[]),
    ("esker-go-json", &["esker-primitives"]),
    ("esker-rpc", &["esker-go-json"]),
    ("esker-http", &["esker-rpc"]),
    ("esker-utxo", &["esker-primitives"]),
    ("esker-transactions", &["esker-utxo"]),
    ("esker-shared-memory", &["esker-storage"]),
    ("esker-chain", &["esker-storage", "esker-set-hash"]),
    ("esker-services", &["esker-chain", "esker-rpc"]),
    ("esker-engine", &["esker-chain"]),
    ("esker-validators", &["esker-chain"]),
    ("esker-engine-bft", &["esker-validators"]),
    ("esker-outbound", &["esker-primitives"]),
    ("esker-follow", &["esker-chain", "esker-outbound"]),
    ("esker-avalanchego", &["esker-utxo", "esker-outbound"]),
    ("esker-platform", &["esker-chain", "esker-utxo", "esker-shared-memory"]),
    (
        "esker-xvm",
        &["esker-services", "esker-transactions", "esker-shared-memory", "esker-keystore"],
    ),
    ("esker-evm-state", &["esker-storage"]),
    ("esker-fork", &["esker-evm-state", "esker-outbound"]),
    ("esker-evm-execution", &["esker-evm-state", "esker-go-json"]),
    ("esker-ethereum", &["esker-evm-execution"]),
    ("esker-evm", &["esker-artifacts", "esker-chain", "esker-evm-execution"]),
    ("esker-keystore", &["esker-storage", "esker-rpc"]),
    (
        "esker-nat",
        &[
            "esker-evm",
            "esker-services",
            "esker-transactions",
            "esker-shared-memory",
            "esker-keystore",
        ],
    ),
    ("esker-key-directory", &["esker-evm", "esker-keystore"]),
    ("esker-evm-rpc", &["esker-evm", "esker-services"]),
    ("esker-profiling", &["esker-primitives"]),
    ("esker-allocator", &["esker-profiling"]),
    ("esker-js-tracer", &["esker-evm-execution"]),
    ("esker-state-test", &["esker-ethereum"]),
    (
        "esker-settings",
        &[
            "esker-http",
            "esker-validators",
            "esker-outbound",
            "esker-xvm",
            "esker-evm-rpc",
            "esker-ethereum",
        ],
    ),
    ("esker-dashboard", &[]),
    (
        "esker-node",
        &[
            "esker-settings",
            "esker-dashboard",
            "esker-engine",
            "esker-follow",
            "esker-fork",
            "esker-avalanchego",
            "esker-platform",
            "esker-nat",
            "esker-key-directory",
            "esker-profiling",
            "esker-js-tracer",
        ],
    ),
    ("esker-client", &["esker-transactions"]),
    ("esker-testing", &["esker-client"]),
    ("esker-testkit", &["esker-nat", "esker-xvm", "esker-profiling"]),
    ("esker-commands", &["esker-node", "esker-client", "esker-state-test"]),
    ("esker", &["esker-commands", "esker-engine-bft", "esker-allocator"]),
    ("esker-e2e", &["esker-testing", "esker-commands", "esker-engine-bft", "esker-allocator"]),
    ("xtask", &[]),
];

/// The page with a picture of the arrows.
const PICTURE: &str = "ARCHITECTURE.md";

/// The package that the tests of any package may use.
const TESTKIT: &str = "esker-testkit";

/// The packages that a package may use in its tests beyond its arrows.
const IN_TESTS: &[(&str, &str)] = &[
    // Both chains under one machine.
    ("esker-nat", "esker-xvm"),
    // Wallets against the rules of the chain.
    ("esker-client", "esker-xvm"),
    // Both chains under validators, in virtual time.
    ("esker-engine-bft", "esker-evm-execution"),
    ("esker-engine-bft", "esker-xvm"),
    // The packages that are made of the program.
    ("esker", "xtask"),
];

pub(super) fn breaches() -> Result<Vec<String>> {
    let packages = packages()?;
    let mut wrong = Vec::new();
    for (name, table) in &packages {
        let Some(allowed) = allowed(name) else {
            wrong.push(format!("{name} has no arrows in xtask/src/tidy/arrows.rs"));
            continue;
        };
        for (section, dependency) in dependencies(table) {
            let ours = packages.contains_key(&dependency);
            let in_tests = section == "dev-dependencies"
                && (dependency == TESTKIT || IN_TESTS.contains(&(name.as_str(), &dependency)));
            if ours && !in_tests && !allowed.contains(dependency.as_str()) {
                wrong.push(format!("{name} may not depend on {dependency} ({section})"));
            }
        }
    }
    let page = workspace::text(Path::new(PICTURE)).context("ARCHITECTURE.md is text")?;
    wrong.extend(picture_differences(&page));
    Ok(wrong)
}

/// Arrows that are missing in the picture, and arrows that it has too many.
fn picture_differences(page: &str) -> Vec<String> {
    let name = |package: &'static str| package.strip_prefix("esker-").unwrap_or("bin");
    let expected: BTreeSet<String> = ARROWS
        .iter()
        .filter(|(_, direct)| !direct.is_empty())
        .map(|(user, direct)| {
            let used: Vec<&str> = direct.iter().copied().map(name).collect();
            format!("{} --> {}", name(user), used.join(" & "))
        })
        .collect();
    let (_, picture) = page.split_once("flowchart TD").unwrap_or_default();
    let (picture, _) = picture.split_once("```").unwrap_or_default();
    let shown: BTreeSet<String> =
        picture.lines().map(str::trim).filter(|l| l.contains("-->")).map(str::to_owned).collect();
    let missing = expected.difference(&shown).map(|line| format!("{PICTURE} lacks `{line}`"));
    let surplus = shown.difference(&expected).map(|line| format!("{PICTURE} has `{line}`"));
    missing.chain(surplus).collect()
}

/// All packages that a package may name; `None` for one that is not listed.
fn allowed(package: &str) -> Option<BTreeSet<&'static str>> {
    let (_, direct) = ARROWS.iter().find(|(name, _)| *name == package)?;
    let mut all: BTreeSet<&'static str> = direct.iter().copied().collect();
    for name in *direct {
        all.extend(allowed(name).unwrap_or_default());
    }
    Some(all)
}

/// The manifest of every package of the workspace, by package name.
fn packages() -> Result<BTreeMap<String, toml::Table>> {
    let mut packages = BTreeMap::new();
    for file in workspace::files()? {
        if file.file_name().is_none_or(|name| name != "Cargo.toml") {
            continue;
        }
        let text = workspace::text(&file).context("a manifest is text")?;
        let table: toml::Table = text.parse().with_context(|| file.display().to_string())?;
        // Separate workspaces (fuzz targets) are not part of the product.
        let own_workspace = table.contains_key("workspace");
        if let Some(name) = table.get("package").and_then(|p| p.get("name")?.as_str())
            && !own_workspace
        {
            packages.insert(name.to_owned(), table);
        }
    }
    Ok(packages)
}

/// `(section, dependency)` of a manifest.
fn dependencies(manifest: &toml::Table) -> Vec<(&'static str, String)> {
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .into_iter()
        .flat_map(|section| {
            let names = manifest.get(section).and_then(toml::Value::as_table);
            names.into_iter().flatten().map(move |(name, _)| (section, name.clone()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_reach_through() {
        let xvm = allowed("esker-xvm").unwrap();
        assert!(xvm.contains("esker-primitives") && xvm.contains("esker-rpc"));
        assert!(!xvm.contains("esker-engine") && !xvm.contains("esker-node"));
        assert!(allowed("unknown").is_none());
    }

    #[test]
    fn picture_is_compared_with_the_list() {
        let page = std::fs::read_to_string(workspace::root().join(PICTURE)).unwrap();
        assert_eq!(picture_differences(&page), Vec::<String>::new());
        let changed = page.replace("    engine --> chain\n", "    engine --> xvm\n");
        let wrong = picture_differences(&changed);
        assert_eq!(
            wrong,
            ["ARCHITECTURE.md lacks `engine --> chain`", "ARCHITECTURE.md has `engine --> xvm`"]
        );
    }
}
