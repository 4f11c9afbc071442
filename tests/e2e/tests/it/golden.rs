//! Replays the recorded exchanges of tests/golden, in both naming modes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use esker_e2e::Node;
use esker_e2e::files::{profile, tests_path};
use esker_e2e::golden::{Failure, Names, Outcome, Scenario, matches_wholly, replay};

use crate::support::local;

/// Files that cannot match yet, and what they need. One that starts to match must be taken off the list.
const WAITING: &[(&str, &str)] = &[];

/// Files that match but for the methods named here, which are not served yet: their requests are left out. A file
/// that matches with them must be taken off the list.
const BUT_FOR: &[(&str, &[&str])] = &[];

/// Single exchanges of the other files that cannot match yet: what stands in the expected line, and what it needs.
/// One that starts to match must be taken off the list.
const WAITING_LINES: &[(&str, &str, &str)] = &[];

/// Exchanges that show how many seconds lay between two blocks when they were recorded (fee window, block gas cost),
/// which the clock decides and no rule: what stands in the expected lines.
const LINES_OF_THE_CLOCK: &[(&str, &str)] = &[("c/ws-1", "\"blockGasCost\": \"0x")];

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
        let name = name(&file);
        let mut waiting = BTreeSet::new();
        for (_, part, _) in WAITING_LINES.iter().filter(|(of, _, _)| *of == name) {
            waiting.extend(lines_with(&file, part));
        }
        let mut of_the_clock = BTreeSet::new();
        for (_, part) in LINES_OF_THE_CLOCK.iter().filter(|(of, _)| *of == name) {
            of_the_clock.extend(lines_with(&file, part));
        }
        for Failure { line, text } in outcome.failures {
            if !waiting.remove(&line) && !of_the_clock.contains(&line) {
                let _ = writeln!(report, "{text}");
            }
        }
        for line in waiting {
            let _ = writeln!(report, "{}:{line}: matches, take it off the list", file.display());
        }
    }
    assert!(report.is_empty(), "{names:?}, {matched} exchanges match, but:\n{report}");
    assert!(matched > 0, "no exchanges in {folder}");
}

/// The expectations of a file that contain this, by number.
fn lines_with(file: &Path, part: &str) -> BTreeSet<usize> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().zip(1..);
    let found: BTreeSet<usize> = lines
        .filter(|(line, _)| line.starts_with('<') && line.contains(part))
        .map(|(_, number)| number)
        .collect();
    assert!(!found.is_empty(), "{} has no {part}", file.display());
    found
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
