//! `cargo xtask test`: the documented test command.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::node::{Node, must};
use crate::{python, workspace};

/// Runs every test; `args` go to `cargo test --workspace`.
pub fn run(args: &[String]) -> Result<()> {
    let start = Instant::now();
    let node = Node::find_or_install()?;
    install_clients(&node)?;
    let python = python::find_or_install()?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(workspace::root())
        .args(["test", "--workspace", "--no-fail-fast"])
        .args(args);
    // The client tests find their programs by these and may not skip because of the last.
    command.env("CLIENT_TESTS_NODE", &node.node).env("CLIENT_TESTS_PYTHON", &python);
    command.env("CLIENT_TESTS", "require");
    let summary = run_and_count(&mut command)?;
    eprintln!(
        "\n{} passed, {} failed, {} ignored in {} test programs; {} s",
        summary.passed,
        summary.failed,
        summary.ignored,
        summary.programs,
        start.elapsed().as_secs()
    );
    if !summary.success {
        bail!("tests failed");
    }
    Ok(())
}

/// `npm ci`, unless what is installed comes from this very lock file.
fn install_clients(node: &Node) -> Result<()> {
    let folder = workspace::root().join("tests").join("clients");
    let lock = std::fs::read(folder.join("package-lock.json")).context("tests/clients")?;
    let stamp = folder.join("node_modules").join(".installed-lock.json");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    must(node.npm(&folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))
        .context("installing the client libraries")?;
    write_stamp(&stamp, &lock)
}

fn write_stamp(stamp: &Path, lock: &[u8]) -> Result<()> {
    std::fs::write(stamp, lock).with_context(|| stamp.display().to_string())
}

/// What the test programs reported together.
#[derive(Debug, Default, PartialEq, Eq)]
struct Summary {
    passed: u64,
    failed: u64,
    ignored: u64,
    programs: u64,
    success: bool,
}

impl Summary {
    /// Takes a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
    fn add(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        let counts = counts.split_once(". ").map_or("", |(_, counts)| counts);
        self.programs = self.programs.saturating_add(1);
        for part in counts.split("; ") {
            let mut words = part.split(' ');
            let number = words.next().and_then(|n| n.parse::<u64>().ok()).unwrap_or_default();
            let total = match words.next() {
                Some("passed") => &mut self.passed,
                Some("failed") => &mut self.failed,
                Some("ignored") => &mut self.ignored,
                _ => continue,
            };
            *total = total.saturating_add(number);
        }
    }
}

/// Runs the command, shows its output, and adds up the result lines.
#[expect(clippy::print_stdout, reason = "the tests' own output is passed on")]
fn run_and_count(command: &mut Command) -> Result<Summary> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("its output is a pipe")?;
    let mut summary = Summary::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
        summary.add(&line);
    }
    summary.success = child.wait()?.success();
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_add_up() {
        let mut summary = Summary::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
        ] {
            summary.add(line);
        }
        let want = Summary { passed: 4, failed: 2, ignored: 1, programs: 2, success: false };
        assert_eq!(summary, want);
    }
}
