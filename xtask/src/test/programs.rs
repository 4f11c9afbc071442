//! The test programs of the workspace, built once by cargo.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace;

/// Variables for the tests.
#[derive(Debug, Default)]
pub(super) struct Environment(Vec<(&'static str, OsString)>);

impl Environment {
    pub(super) fn add(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.0.push((name, value.into()));
    }

    pub(super) fn set(&self, command: &mut Command) {
        command.envs(self.0.iter().map(|(name, value)| (name, value)));
    }
}

/// A built test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Package and target, such as `esker-e2e it`.
    pub(super) name: String,
    pub(super) file: PathBuf,
    /// The folder of the package, in which cargo also runs the program.
    pub(super) folder: PathBuf,
}

impl Program {
    /// The command as cargo starts it. The variable makes test programs of a stable compiler report the duration of
    /// each test.
    pub(super) fn command(&self, environment: &Environment) -> Command {
        let mut command = Command::new(&self.file);
        command.args(["-Zunstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        environment.set(&mut command);
        command
    }

    /// The names of the tests that the arguments select.
    pub(super) fn tests(&self, environment: &Environment, args: &[&str]) -> Result<Vec<String>> {
        let mut command = self.command(environment);
        command.args(["--list", "--format", "terse"]).args(args);
        let output = command.stdin(Stdio::null()).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }
}

/// The cargo that runs this program, in the workspace's root.
pub(super) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root());
    command
}

/// Builds all test programs, in the order in which cargo finishes them.
pub(super) fn build() -> Result<Vec<Program>> {
    let mut command = cargo();
    command.args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("its output is a pipe")?;
    let mut programs = Vec::new();
    for line in BufReader::new(output).lines() {
        programs.extend(program_of(&serde_json::from_str(&line?)?));
    }
    if !child.wait()?.success() {
        bail!("the tests do not build");
    }
    Ok(programs)
}

/// The test program that a message of cargo reports.
fn program_of(message: &Value) -> Option<Program> {
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let file = message["executable"].as_str().filter(|_| is_test)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let target = message["target"]["name"].as_str()?;
    let package = package_of(message["package_id"].as_str()?)?;
    let name = if target.replace('_', "-") == package {
        package.to_owned()
    } else {
        format!("{package} {target}")
    };
    Some(Program { name, file: file.into(), folder: folder.to_owned() })
}

/// `esker-rpc` of `path+file:///folder/crates/rpc#esker-rpc@0.1.0`, or of `.../xtask#0.1.0`, where the folder is the
/// name.
fn package_of(id: &str) -> Option<&str> {
    let (path, version) = id.rsplit_once('#')?;
    match version.split_once('@') {
        Some((name, _)) => Some(name),
        None => path.rsplit('/').next(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_test_program_is_found_in_a_message_of_cargo() {
        let mut message = json!({
            "reason": "compiler-artifact",
            "package_id": "path+file:///repository/crates/rpc#esker-rpc@0.1.0",
            "manifest_path": "/repository/crates/rpc/Cargo.toml",
            "target": { "name": "it" },
            "profile": { "test": true },
            "executable": "/repository/target/debug/deps/it-0",
        });
        let program = program_of(&message).unwrap();
        assert_eq!(program.name, "esker-rpc it");
        assert_eq!(program.folder, Path::new("/repository/crates/rpc"));
        message["target"]["name"] = json!("esker_rpc");
        assert_eq!(program_of(&message).unwrap().name, "esker-rpc");
        message["profile"]["test"] = json!(false);
        assert_eq!(program_of(&message), None);
        assert_eq!(program_of(&json!({ "reason": "build-finished", "success": true })), None);
    }

    #[test]
    fn packages_are_named_by_their_ids() {
        assert_eq!(package_of("path+file:///repository/xtask#0.1.0"), Some("xtask"));
        assert_eq!(package_of("no id"), None);
    }
}
