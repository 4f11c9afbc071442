//! `cargo xtask docs`: writes the generated parts of documents. The tests that compare documents with the code write
//! them if `UPDATE_EXPECT` is set; this command runs them.

use std::process::Command;

use anyhow::Result;

use crate::node::must;
use crate::workspace;

/// Arguments of `cargo test` for each group of pages.
const WRITERS: [&[&str]; 3] = [
    // docs/configuration.md
    &["-p", "esker-settings", "--lib", "config::docs"],
    // docs/metrics.md
    &["-p", "esker-node", "--test", "it", "the_documentation_is_current"],
    // Answers and tables of parameters on all pages, the list of methods in docs/api/README.md.
    &["-p", "esker-e2e", "--test", "it", "--", "docs::every_answer", "docs::the_list"],
];

/// Writes all of them; git shows the changes.
pub fn run() -> Result<()> {
    for arguments in WRITERS {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(workspace::root()).args(["test", "--quiet"]).args(arguments);
        must(command.env("UPDATE_EXPECT", "1"))?;
    }
    Ok(())
}
