//! Nodes whose history begins at a snapshot: what they answer below it, and what goes on as on any node.

mod commands;
mod evm;
mod stream;
mod xvm;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use esker_client::CallError;
use esker_e2e::files::{copy_folder, tests_path};
use esker_e2e::history::{Joined, forget_history};
use esker_e2e::{Node, NodeBuilder};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{PROGRAM, local};

/// Blocks of the C-Chain that the joined folder has.
const C_BLOCKS: u64 = 40;

/// A folder with the recorded chain of the local network, and one that joined from a snapshot of its end.
struct Folders {
    _dir: TempDir,
    whole: PathBuf,
    joined: PathBuf,
    start: Joined,
}

impl Folders {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (whole, joined) = (dir.path().join("whole"), dir.path().join("joined"));
        let blocks = tests_path("vectors/chain/local-1.jsonl");
        esker(&["import", blocks.to_str().unwrap()], &whole).unwrap();
        copy_folder(&whole, &joined).unwrap();
        let start = forget_history(&joined, C_BLOCKS).unwrap();
        assert!(start.x_block > 1 && start.first_c_block > 1, "{start:?}");
        Self { _dir: dir, whole, joined, start }
    }
}

/// Settings of the chains: all methods that read.
const CONFIG: &str = r#"
[chains.C]
eth-apis = [
    "eth", "eth-filter", "net", "web3", "internal-eth", "internal-blockchain", "internal-transaction", "debug-tracer",
    "debug", "internal-debug", "admin",
]
"#;

/// A node on a folder, with all methods that read.
fn node(folder: &Path) -> NodeBuilder {
    let config = folder.with_extension("toml");
    std::fs::write(&config, CONFIG).unwrap();
    local().data_dir(folder).config(config)
}

/// Runs a command on a folder of the local network: its output, or its error.
fn esker(args: &[&str], folder: &Path) -> Result<String, String> {
    let mut command = Command::new(PROGRAM);
    command.args(args).args(["--network", "local", "--data-dir"]).arg(folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    match output.status.success() {
        true => Ok(text(output.stdout)),
        false => Err(text([output.stdout, output.stderr].concat())),
    }
}

/// The answer of a method, or the code and the text of its error.
fn ask(node: &Node, path: &str, method: &str, params: Value) -> Result<Value, (i64, String)> {
    node.rpc().call(path, method, params).map_err(|error| match error {
        CallError::Rpc { code, message } => (code, message),
        other => panic!("{path} {method}: {other}"),
    })
}
