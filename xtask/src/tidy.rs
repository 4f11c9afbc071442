//! Rules of the repository that no compiler checks, one file each. Every rule lists its breaches.

mod arrows;
mod circles;
mod citations;
mod dashboards;
mod doc_tests;
mod documents;
mod functions;
mod goldens;
mod links;
mod own_imports;
mod package;
mod pages;
mod places;
mod profiles;
mod selects;
mod services;
mod sizes;
mod specification;
mod tables;
mod todos;
mod toolchain;
mod writers;

use anyhow::{Result, bail};

/// A rule: its name, and the function that finds its breaches.
pub type Rule = (&'static str, fn() -> Result<Vec<String>>);

/// Every rule.
pub const RULES: [Rule; 21] = [
    ("crates depend on each other only along the arrows", arrows::breaches),
    ("files of a crate do not use each other in a circle", circles::breaches),
    ("a crate's own code does not import through its lib.rs", own_imports::breaches),
    ("only the writers of ARCHITECTURE.md write to the store", writers::breaches),
    ("source files are short", sizes::breaches),
    ("functions are short", functions::breaches),
    ("examples in documentation are tested", doc_tests::breaches),
    ("paths named in documents exist", documents::breaches),
    ("links of documents lead to a heading", links::breaches),
    ("citations name a page and a heading that exist", citations::breaches),
    ("alerts and dashboards name metrics that exist", dashboards::breaches),
    ("every specified X-Chain method has goldens of success and failure", goldens::breaches),
    ("every rule of the specification names its tests", specification::breaches),
    ("tables of one scope have different tags", tables::breaches),
    ("a mark of unfinished work names its issue", todos::breaches),
    ("the container image is built with the repository's compiler", toolchain::breaches),
    ("packages are fully optimized", profiles::breaches),
    ("the Debian package has its files", package::breaches),
    ("units and images give the node settings that exist", services::breaches),
    ("the engine polls in a fixed order", selects::breaches),
    ("nothing names a place outside the repository", places::breaches),
];

/// Applies every rule and reports every breach.
pub fn run() -> Result<()> {
    let mut all = Vec::new();
    for (name, rule) in RULES {
        all.extend(rule()?.into_iter().map(|breach| format!("{name}: {breach}")));
    }
    if all.is_empty() {
        return Ok(());
    }
    bail!("{} breaches\n{}", all.len(), all.join("\n"))
}
