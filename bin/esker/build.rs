//! The commit that the binary is built from, for `esker --version` and the node's answers.
//!
//! Without a git checkout (an image, a package) `ESKER_GIT_COMMIT` and `ESKER_COMMIT_DATE` provide it; otherwise git
//! does. Without either, the version has no commit. The date is that of the commit: a build of the same commit has
//! the same bytes. Only this crate depends on it, so a new commit rebuilds nothing else.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Digits of the commit in the text of the version.
const SHORT: usize = 12;
/// Variables by which a caller, such as a git hook, directs git to another repository.
const GIT_VARIABLES: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"];

fn main() {
    for variable in ["ESKER_GIT_COMMIT", "ESKER_COMMIT_DATE"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").expect("Cargo sets it");
    let found = given().or_else(from_git).filter(|(commit, _)| is_commit(commit));
    let Some((commit, date)) = found else {
        println!("cargo::rustc-env=ESKER_BUILD_VERSION={version}");
        return;
    };
    let short = &commit[..SHORT];
    let date = date.filter(|date| is_date(date));
    let place = date.as_ref().map_or_else(|| short.to_owned(), |date| format!("{short} {date}"));
    println!("cargo::rustc-env=ESKER_BUILD_VERSION={version} ({place})");
    println!("cargo::rustc-env=ESKER_BUILD_COMMIT={commit}");
}

/// The commit and its date from the environment. An empty variable is an absent one.
fn given() -> Option<(String, Option<String>)> {
    let variable = |name| env::var(name).ok().filter(|text| !text.is_empty());
    Some((variable("ESKER_GIT_COMMIT")?, variable("ESKER_COMMIT_DATE")))
}

/// The commit of the checkout of this package, and its date (UTC).
fn from_git() -> Option<(String, Option<String>)> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("../..").canonicalize().ok()?;
    // Sources in another repository have no commit of their own.
    let top = git(&root, ["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root {
        return None;
    }
    watch(&root);
    let commit = git(&root, ["rev-parse", "--verify", "HEAD"])?;
    let date = ["log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%d", "HEAD"];
    Some((commit, git(&root, date)))
}

/// Makes Cargo run this again when another commit is checked out or made. In a linked worktree `HEAD` belongs to the
/// worktree and the branches to the repository. A branch without a file of its own is in `packed-refs`, and gets a
/// file with its next commit.
fn watch(root: &Path) {
    let path = |name: &str| Some(root.join(git(root, ["rev-parse", "--git-path", name])?));
    let mut watched = vec![path("HEAD"), path("packed-refs").filter(|path| path.exists())];
    if let Some(branch) = git(root, ["symbolic-ref", "--quiet", "HEAD"]) {
        watched.push(path(&branch).and_then(|file| nearest_existing(&file)));
    }
    for path in watched.into_iter().flatten() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// The file, or the folder in which it will appear.
fn nearest_existing(file: &Path) -> Option<PathBuf> {
    file.ancestors().find(|path| path.exists()).map(Path::to_owned)
}

fn git<const N: usize>(folder: &Path, arguments: [&str; N]) -> Option<String> {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments).env("TZ", "UTC0");
    for variable in GIT_VARIABLES {
        command.env_remove(variable);
    }
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}

fn is_commit(text: &str) -> bool {
    text.len() >= SHORT && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether the text is of the form `2026-11-23`.
fn is_date(text: &str) -> bool {
    text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}
