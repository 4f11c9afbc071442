//! Replays the recorded exchanges of tests/golden, in both naming modes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use esker_e2e::Node;
use esker_e2e::files::{profile, tests_path};
use esker_e2e::golden::{Names, Outcome, Scenario, matches_wholly, replay};

use crate::support::local;

/// Files that cannot match yet, and what they need. One that starts to match must be taken off the list.
const WAITING: &[(&str, &str)] = &[
    ("c/accounts-1", "personal"),
    ("c/accounts-2", "personal"),
    ("c/admin-1", "admin"),
    ("c/debug-runtime", "debug"),
    ("c/debug-state-1", "debug"),
    ("c/debug-state-2", "debug"),
    ("c/genesis", "debug"),
    ("c/personal-1", "personal"),
    ("c/trace-chain", "debug, websocket"),
    ("c/trace-struct-1", "debug"),
    ("c/tracers-1", "debug"),
    ("c/ws-1", "debug, websocket"),
    ("node/admin", "the whole admin API"),
];

/// Files that match but for the methods named here, which are not served yet: their requests are left out. A file
/// that matches with them must be taken off the list.
const BUT_FOR: &[(&str, &[&str])] =
    &[("c/nat-import-1", &["debug_"]), ("c/nat-mixed", &["debug_"])];

#[test]
fn x_by_the_reference_names() {
    check("x", Names::Brand);
}

#[test]
fn x_by_the_specification_names() {
    check("x", Names::Specification);
}

#[test]
fn node_by_the_reference_names() {
    check("node", Names::Brand);
}

#[test]
fn node_by_the_specification_names() {
    check("node", Names::Specification);
}

#[test]
fn c_by_the_reference_names() {
    check("c", Names::Brand);
}

#[test]
fn c_by_the_specification_names() {
    check("c", Names::Specification);
}

#[test]
fn the_list_of_waiting_files_is_true() {
    let mut matching = Vec::new();
    let waiting = WAITING.iter().map(|(name, needs)| (*name, (*needs).to_owned()));
    let partly = BUT_FOR.iter().map(|(name, methods)| (*name, methods.join(", ")));
    for (name, needs) in waiting.chain(partly) {
        let file = tests_path("golden").join(format!("{name}.io"));
        assert!(file.is_file(), "{name} is not there");
        let (scenario, node) = start(&file, Names::Brand);
        if matches_wholly(&scenario, node.address()) {
            matching.push(format!("{name} ({needs})"));
        }
    }
    assert!(matching.is_empty(), "these match, take them off the list: {}", matching.join(", "));
}

/// Every file of a folder that does not wait.
fn check(folder: &str, names: Names) {
    let mut report = String::new();
    let mut matched = 0;
    for file in files(folder) {
        let outcome = run(&file, names);
        matched += outcome.matched;
        for failure in outcome.failures {
            let _ = writeln!(report, "{failure}");
        }
    }
    assert!(report.is_empty(), "{names:?}, {matched} exchanges match, but:\n{report}");
    assert!(matched > 0, "no exchanges in {folder}");
}

fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(tests_path("golden").join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|file| file.extension().is_some_and(|e| e == "io"))
        .filter(|file| !WAITING.iter().any(|(waiting, _)| *waiting == name(file)))
        .collect();
    files.sort();
    files
}

/// Folder and name of a file, as in the lists.
fn name(file: &Path) -> String {
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
    format!("{}/{}", folder.to_string_lossy(), file.file_stem().unwrap().to_string_lossy())
}

fn run(file: &Path, names: Names) -> Outcome {
    let (mut scenario, node) = start(file, names);
    if let Some((_, methods)) = BUT_FOR.iter().find(|(partly, _)| *partly == name(file)) {
        // By their lines: the lists have the names as recorded.
        let recorded = Scenario::read(file, Names::Brand).unwrap();
        scenario.leave_out(&recorded.lines_of(methods));
    }
    replay(&scenario, node.address())
}

/// A fresh node for each file, as they were recorded.
fn start(file: &Path, names: Names) -> (Scenario, Node) {
    let scenario = Scenario::read(file, names).unwrap();
    let node = local().config(profile(&scenario.profile)).start().unwrap();
    (scenario, node)
}
