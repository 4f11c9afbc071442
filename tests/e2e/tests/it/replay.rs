//! Chains recorded on the reference, block by block: `tests/vectors/chain`.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use esker_e2e::files::{copy_folder, profile, tests_path};
use esker_e2e::golden::{Names, Scenario, replay};
use serde::Deserialize;

use crate::support::{PROGRAM, local};
use crate::traces::assert_traces_agree;

/// A block with one thing changed.
#[derive(Deserialize)]
struct Altered {
    chain: String,
    height: u64,
    bytes: String,
    rule: String,
    /// How the reason begins or what it contains.
    text: Option<String>,
}

fn recorded() -> Vec<String> {
    let file = tests_path("vectors/chain/local-1.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| line.replace(' ', "") + "\n").collect()
}

fn altered() -> Vec<Altered> {
    let file = tests_path("vectors/chain/local-1-altered.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn esker(args: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(args).args(["--network", "local", "--data-dir"]).arg(folder);
    command.stdin(Stdio::null()).output().unwrap()
}

/// Imports lines into a folder.
fn import(lines: &[String], folder: &Path) -> Output {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), lines.concat()).unwrap();
    esker(&["import", file.path().to_str().unwrap()], folder)
}

fn exported(folder: &Path) -> String {
    let output = esker(&["export", "-"], folder);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn place(lines: &[String], chain: &str, height: u64) -> Option<usize> {
    let start = format!("{{\"chain\":\"{chain}\",\"height\":{height},");
    lines.iter().position(|line| line.starts_with(&start))
}

/// Each is offered when its parent is the tip. The block itself is taken afterwards.
#[test]
fn altered_blocks_are_refused_for_their_own_reason_and_change_nothing() {
    let (lines, all) = (recorded(), altered());
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (index, altered) in all.iter().enumerate() {
        let Altered { chain, height, bytes, rule, text } = altered;
        let at = place(&lines, chain, *height).unwrap();
        let before = dir.path().join(format!("{chain}{height}"));
        if !before.exists() {
            assert!(import(&lines[..at], &before).status.success());
        }
        let folder = dir.path().join(index.to_string());
        copy_folder(&before, &folder).unwrap();
        let line = format!("{{\"chain\":\"{chain}\",\"height\":{height},\"bytes\":\"{bytes}\"}}");
        let output = import(&[line], &folder);
        let output_text = String::from_utf8(output.stderr).unwrap();
        let start = format!("esker: block {height} of chain {chain} (line 1) is refused: ");
        let reason = output_text.strip_prefix(&start);
        let fits = |reason: &str| text.as_ref().is_none_or(|text| reason.contains(text.as_str()));
        if output.status.code() != Some(1) || !reason.is_some_and(fits) {
            wrong.push(format!("{rule}: want {text:?}, got {output_text}"));
        }
        if exported(&folder) != lines[..at].concat() {
            wrong.push(format!("{rule}: something changed"));
        }
        if !import(&lines[at..=at], &folder).status.success() {
            wrong.push(format!("{rule}: the block itself is no longer taken"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(all.len(), 33);
}

/// Both chains whole, and then the reference's answers about them.
#[test]
fn the_recorded_chains_are_imported_whole_and_answer_as_the_reference() {
    let lines = recorded();
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("data");
    let config = profile("default");
    let file = dir.path().join("blocks.jsonl");
    std::fs::write(&file, lines.concat()).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["import", file.to_str().unwrap(), "--network", "local", "--config"]).arg(&config);
    let output = command.arg("--data-dir").arg(&folder).stdin(Stdio::null()).output().unwrap();
    let output_text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output_text, "179 blocks imported, X at height 78, C at height 101\n");
    assert_eq!(exported(&folder), lines.concat());

    let node = local().config(config).data_dir(&folder).start().unwrap();
    let scenario = Scenario::read(&tests_path("vectors/chain/local-1.io"), Names::Brand).unwrap();
    let outcome = replay(&scenario, node.address());
    let failures: Vec<String> = outcome.failures.into_iter().map(|failure| failure.text).collect();
    assert!(failures.is_empty(), "{} match, but:\n{}", outcome.matched, failures.join("\n"));
    assert!(outcome.matched > 500, "{}", outcome.matched);
    let file = tests_path("vectors/chain/local-1-traces.io");
    let outcome = replay(&Scenario::read(&file, Names::Brand).unwrap(), node.address());
    let failures: Vec<String> = outcome.failures.into_iter().map(|failure| failure.text).collect();
    assert!(failures.is_empty(), "{} match, but:\n{}", outcome.matched, failures.join("\n"));
    assert_eq!(outcome.matched, 29);
    assert_traces_agree(&node, 101);
}
