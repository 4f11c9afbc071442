//! Blocks in and out of a data folder that no node has open.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;

use crate::harness::{Ended, Esker, command, names, run, run_command};

/// A chain recorded on the reference.
const RECORDED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/chain/local-1.jsonl");
/// Its lines before the first atomic transaction of the C-Chain.
const LINES: usize = 24;
const WHOLE: &str = "X at height 10, C at height 14";

/// A data folder, and files with blocks.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, lines: &[String]) -> String {
        let path = self.path(name);
        fs::write(&path, lines.concat()).unwrap();
        path
    }

    fn run(&self, what: &str, file: &str) -> Ended {
        run(&[what, file, "--data-dir", &self.path("data")])
    }

    fn import(&self, lines: &[String]) -> Ended {
        let file = self.write("blocks.jsonl", lines);
        self.run("import", &file)
    }

    /// The blocks of the folder, as lines.
    fn exported(&self) -> String {
        let ended = self.run("export", "-");
        assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
        ended.stdout
    }
}

/// The lines of the recording that every version takes, as an export writes them.
fn recorded() -> Vec<String> {
    let text = fs::read_to_string(RECORDED).unwrap();
    text.lines().take(LINES).map(|line| line.replace(' ', "") + "\n").collect()
}

fn is_refused(ended: &Ended, code: i32, message: &str) {
    assert_eq!(ended.code(), Some(code), "{}", ended.stderr);
    assert!(ended.stderr.contains(message), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

fn is_done(ended: &Ended, message: &str) {
    assert_eq!(ended.stderr, "", "quiet: there is no terminal");
    assert_eq!((ended.code(), ended.stdout.as_str()), (Some(0), message));
}

#[test]
fn what_was_imported_is_exported_in_its_order() {
    let (place, lines) = (Place::new(), recorded());
    is_done(&place.import(&lines[..10]), "10 blocks imported, X at height 4, C at height 6\n");
    // Goes on where it ended; here and there are an empty line and another end of line.
    let mut all = lines.clone();
    all[3] = format!("\n{}\r\n", all[3].trim_end());
    is_done(&place.import(&all), &format!("14 blocks imported (10 more were there), {WHOLE}\n"));
    assert_eq!(place.exported(), lines.concat());
    let file = place.path("out.jsonl");
    is_done(&place.run("export", &file), &format!("{LINES} blocks exported to {file}\n"));
    assert_eq!(fs::read_to_string(&file).unwrap(), lines.concat());
    // A file is never written over, and none is left half-written.
    is_refused(&place.run("export", &file), 1, "file already exists; choose another");
    is_refused(&place.run("export", &place.path("no/out")), 1, "No such file");
    assert_eq!(names(place.dir.path()), ["blocks.jsonl", "data", "out.jsonl"]);

    let node = Esker::start(&["node", "--data-dir", &place.path("data")]);
    assert_eq!(node.height(), "10");
    let tip = node.call("/ext/bc/C/rpc", "eth_getBlockByNumber", json!(["latest", false]));
    assert_eq!(tip["number"], "0xe");
    for (what, name) in [("import", "blocks.jsonl"), ("export", "other")] {
        let refused = place.run(what, &place.path(name));
        is_refused(&refused, 1, "is in use by another process (pid ");
    }
    node.stop("TERM");
}

#[test]
fn what_a_node_made_is_imported_elsewhere() {
    let place = Place::new();
    let dev = ["--data-dir", &place.path("dev"), "--evm-port", "0"];
    let node = Esker::start(&[&["dev"], &dev[..]].concat());
    let accounts = node.evm("eth_accounts", json!([]));
    let transfer = json!([{"from": accounts[0], "to": accounts[1], "value": "0x1"}]);
    let hash = node.evm("eth_sendTransaction", transfer);
    while node.evm("eth_getTransactionReceipt", json!([hash])).is_null() {}
    let tip = node.evm("eth_getBlockByNumber", json!(["latest", true]));
    node.stop("TERM");
    let file = place.path("blocks.jsonl");
    let exported = run(&["export", &file, "--dev", "--data-dir", &place.path("dev")]);
    is_done(&exported, &format!("2 blocks exported to {file}\n"));
    let other = place.path("other");
    let imported = run(&["import", &file, "--dev", "--data-dir", &other]);
    is_done(&imported, "2 blocks imported, X at height 1, C at height 1\n");
    let node = Esker::start(&["dev", "--data-dir", &other, "--evm-port", "0"]);
    assert_eq!(node.evm("eth_getBlockByNumber", json!(["latest", true])), tip);
    assert_eq!(node.height(), "1", "the accounts are funded by a block of the file");
}

#[test]
fn a_refused_block_is_named_and_what_was_before_is_kept() {
    let lines = recorded();
    let x = |height: u64| -> usize {
        let start = format!("{{\"chain\":\"X\",\"height\":{height},");
        lines.iter().position(|line| line.starts_with(&start)).unwrap()
    };
    let changed = |index: usize, from: &str, to: &str| {
        let mut changed = lines.clone();
        changed[index] = changed[index].replacen(from, to, 1);
        assert!(changed != lines, "{from} is in line {index}");
        changed
    };
    let at = x(4);
    let cut = |line: &str, bytes: usize| line[..line.len() - bytes].to_owned();
    for (given, error) in [
        (
            changed(at, "0x000000000014", "0x000000000015"),
            "block 4 of chain X (line 10) is refused: ",
        ),
        (
            changed(at, "\"}", "00\"}"),
            "block 4 of chain X (line 10) is refused: trailing buffer space",
        ),
        (
            changed(at, "\"height\":4", "\"height\":6"),
            "block 6 of chain X (line 10) is refused: the last accepted block is 3",
        ),
        (
            changed(at, "\"height\":4", "\"height\":3"),
            "block 3 of chain X (line 10) is refused: another block of this height was accepted",
        ),
        (changed(at, "\"X\"", "\"Q\""), "line 10: the network has no chain \"Q\""),
        (changed(at, "\"X\"", "\"P\""), "line 10: the network has no chain \"P\""),
        (changed(at, "0x", ""), "line 10: bytes: missing 0x prefix"),
        (
            [&lines[..at], &[cut(&lines[at], 20)]].concat(),
            "line 10: expected {\"chain\":\"X\",\"height\":1,\"bytes\":\"0x...\"}: EOF",
        ),
    ] {
        let place = Place::new();
        is_refused(&place.import(&given), 1, error);
        assert_eq!(place.exported(), lines[..at].concat());
        assert_eq!(place.import(&lines).code(), Some(0));
        assert_eq!(place.exported(), lines.concat());
    }
}

#[test]
fn an_import_that_was_stopped_goes_on() {
    let lines = recorded();
    for signal in ["INT", "TERM", "KILL"] {
        let place = Place::new();
        let mut importing =
            command(&["import", "-", "--data-dir", &place.path("data")], place.dir.path());
        let mut child = importing.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(lines[..8].concat().as_bytes()).unwrap();
        // It listens to signals from before it takes the folder, and waits for input that does not end.
        while !Path::new(&place.path("data/esker.mdb")).exists() {
            std::thread::yield_now();
        }
        let pid = child.id().to_string();
        assert!(
            std::process::Command::new("kill")
                .args(["-s", signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        let ended = child.wait_with_output().unwrap();
        drop(input);
        let stderr = String::from_utf8(ended.stderr).unwrap();
        if signal != "KILL" {
            assert_eq!(ended.status.code(), Some(1));
            assert!(stderr.starts_with("esker: stopped: "), "{stderr}");
            assert!(stderr.ends_with("; run the same command again to continue\n"), "{stderr}");
        }
        let rest = place.import(&lines);
        assert_eq!(rest.code(), Some(0), "{}", rest.stderr);
        assert!(rest.stdout.ends_with(&format!("{WHOLE}\n")), "{}", rest.stdout);
        assert_eq!(place.exported(), lines.concat());
    }
}

#[test]
fn without_data_or_input_nothing_is_made() {
    let place = Place::new();
    is_refused(&place.run("export", "-"), 2, "no node data in ");
    is_refused(&place.run("import", &place.path("nothing")), 1, "No such file");
    is_refused(&place.run("import", &place.path("")), 1, "is a directory");
    is_refused(&run(&["export", "-", "--dev"]), 2, "name that folder");
    assert_eq!(names(place.dir.path()), [] as [&str; 0]);
    for args in [&["import"][..], &["export"], &["export", "a", "b"]] {
        assert_eq!(run(args).code(), Some(2), "{args:?}");
    }
    // The blocks of another network follow on no block of this one.
    let lines = place.write("blocks.jsonl", &recorded());
    let other = run(&["import", &lines, "--network", "test", "--data-dir", &place.path("test")]);
    is_refused(&other, 1, "block 1 of chain C (line 1) is refused: ");
    let refused = place.run("import", &lines);
    assert_eq!(refused.code(), Some(0));
    let wrong = run(&["export", "-", "--network", "test", "--data-dir", &place.path("data")]);
    is_refused(&wrong, 2, "data folder belongs to network 12345");
}

/// Into a program that reads only the beginning.
#[test]
fn an_export_to_a_pipe_that_closes_ends() {
    let place = Place::new();
    assert_eq!(place.import(&recorded()).code(), Some(0));
    let mut exporting =
        command(&["export", "-", "--data-dir", &place.path("data")], place.dir.path());
    let mut child = exporting.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().code().is_some());
    let output: PathBuf = place.dir.path().join("device");
    std::os::unix::fs::symlink("/dev/null", &output).unwrap();
    let exported = place.run("export", output.to_str().unwrap());
    assert_eq!((exported.code(), run_command(exporting).code()), (Some(0), Some(0)));
    assert!(output.is_symlink(), "a device is written to, not replaced");
}
