//! The commit of the build: what git says of this checkout is what the binary and the node say.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::harness::{Esker, logged};

/// The commit and its date (UTC) by `ESKER_GIT_COMMIT` and `ESKER_COMMIT_DATE`, else by git; `None` outside of a
/// checkout.
fn commit() -> Option<(String, String)> {
    if let Some(given) = option_env!("ESKER_GIT_COMMIT").filter(|text| !text.is_empty()) {
        let date = option_env!("ESKER_COMMIT_DATE").unwrap_or_default();
        return Some((given.to_owned(), date.to_owned()));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(".git").exists() {
        return None;
    }
    let mut git = Command::new("git");
    git.current_dir(&root).env("TZ", "UTC0");
    git.args(["show", "--no-patch", "--format=%H %cd", "--date=format-local:%Y-%m-%d", "HEAD"]);
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
        git.env_remove(variable);
    }
    let output = git.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).unwrap();
    let (commit, date) = text.trim().split_once(' ').unwrap();
    Some((commit.to_owned(), date.to_owned()))
}

/// The text that `--version` prints after the name.
pub(crate) fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match commit() {
        Some((commit, date)) => {
            format!("{version} ({})", [&commit[..12], &date].join(" ").trim_end())
        }
        None => version.to_owned(),
    }
}

#[test]
fn a_node_names_its_commit() {
    let (commit, _) = commit().unwrap_or_default();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let node = Esker::start(&["dev", "--data-dir", data.to_str().unwrap(), "--log-format", "json"]);
    let shown = node.call("/ext/info", "info.getNodeVersion", json!({}));
    assert_eq!(shown["gitCommit"], commit);
    let client = node.call("/ext/bc/C/rpc", "web3_clientVersion", json!([]));
    assert_eq!(client, concat!("anvil/esker/v", env!("CARGO_PKG_VERSION")), "as the reference's");
    let (_, metrics) = node.http("GET", "/ext/metrics", "");
    let build = metrics.lines().find(|line| line.starts_with("esker_build_info{")).unwrap();
    for label in [format!("commit=\"{commit}\""), format!("version=\"{}\"", shown_version())] {
        assert!(build.contains(&label), "{build} lacks {label}");
    }
    node.stop("TERM");
    let starting = &logged(&data, "starting")[0];
    match commit.as_str() {
        "" => assert!(starting.get("commit").is_none(), "{starting}"),
        commit => assert_eq!(starting["commit"], commit),
    }
}

const fn shown_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
