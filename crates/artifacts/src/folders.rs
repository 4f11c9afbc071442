//! Folders of artifacts, read again as they change.

use std::collections::{BTreeMap, HashSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use esker_primitives::{plain_text, read_bounded};

use crate::artifact;
use crate::contract::Contract;
use crate::walk::Walk;

/// Most bytes of an artifact's file.
pub const MAX_FILE: u64 = 16 << 20;
/// Most files that are read.
pub const MAX_FILES: usize = 20_000;
/// Most bytes of all files together.
pub const MAX_TOTAL: u64 = 256 << 20;
/// Most problems that are reported.
const MAX_PROBLEMS: usize = 50;
/// Most characters of a problem's text.
const MAX_TEXT: usize = 400;

/// Folders of artifacts.
#[derive(Debug)]
pub struct Folders {
    roots: Vec<PathBuf>,
    files: BTreeMap<PathBuf, File>,
    /// Problems that were reported.
    reported: HashSet<String>,
}

/// What a look at the folders found.
#[derive(Debug, Default)]
pub struct Scan {
    /// Whether a contract is new, changed or gone.
    pub is_changed: bool,
    /// Texts of files that are not used. Each is reported once.
    pub problems: Vec<String>,
}

#[derive(Debug)]
struct File {
    stamp: Stamp,
    /// Of the last version that could be read.
    contract: Option<Arc<Contract>>,
    /// Why this version can't be used.
    problem: Option<String>,
}

/// A version of a file: its time of change in seconds and nanoseconds, its length, its inode.
type Stamp = (i64, i64, u64, u64);

impl Folders {
    /// Folders that are not read yet.
    pub fn new(roots: Vec<PathBuf>) -> Self {
        Self { roots, files: BTreeMap::new(), reported: HashSet::new() }
    }

    /// The contracts of the last scan.
    pub fn contracts(&self) -> Vec<Arc<Contract>> {
        self.files.values().filter_map(|file| file.contract.clone()).collect()
    }

    /// Reads what is new or changed. Of a file that can't be used any more the earlier version stays: it may be half
    /// written. It is reported if it is the same at the next scan.
    pub fn scan(&mut self) -> Scan {
        let mut walk = Walk::default();
        self.roots.iter().for_each(|root| walk.add(root));
        walk.files.sort_by(|a, b| a.0.cmp(&b.0));
        // Folders may be within each other.
        walk.files.dedup_by(|a, b| a.0 == b.0);
        let mut scan = Scan::default();
        let mut problems = walk.problems;
        let (mut before, mut total) = (std::mem::take(&mut self.files), 0_u64);
        for (index, (path, metadata)) in walk.files.into_iter().enumerate() {
            if index >= MAX_FILES {
                let text = format!(
                    "there are more than {MAX_FILES} files: this and the following are not read"
                );
                problems.push((path, text));
                break;
            }
            total = total.saturating_add(metadata.len());
            if let Err(text) = check(metadata.len(), total) {
                problems.push((path, text));
                total -= metadata.len();
                continue;
            }
            let file = match before.remove(&path) {
                Some(file) if file.stamp == stamp(&metadata) => {
                    problems.extend(file.problem.clone().map(|text| (path.clone(), text)));
                    file
                }
                earlier => {
                    let had_contract = earlier.as_ref().is_some_and(|file| file.contract.is_some());
                    let file = read(&path, &metadata, earlier);
                    let matters = had_contract || file.contract.is_some();
                    scan.is_changed |= matters && file.problem.is_none();
                    file
                }
            };
            self.files.insert(path, file);
        }
        scan.is_changed |= before.values().any(|file| file.contract.is_some());
        scan.problems = self.unreported(problems);
        scan
    }

    fn unreported(&mut self, problems: Vec<(PathBuf, String)>) -> Vec<String> {
        let mut texts = Vec::new();
        for (path, text) in problems {
            let text = plain_text(&format!("{}: {text}", path.display()), MAX_TEXT);
            if self.reported.len() < MAX_PROBLEMS && self.reported.insert(text.clone()) {
                texts.push(text);
                if self.reported.len() == MAX_PROBLEMS {
                    texts.push("further files that can't be used are not reported".to_owned());
                }
            }
        }
        texts
    }
}

/// Whether a file is within the bounds.
fn check(length: u64, total: u64) -> Result<(), String> {
    if length > MAX_FILE {
        return Err(format!("it is larger than {MAX_FILE} bytes: not read"));
    }
    if total > MAX_TOTAL {
        return Err(format!("all files together are larger than {MAX_TOTAL} bytes: not read"));
    }
    Ok(())
}

fn read(path: &Path, metadata: &Metadata, earlier: Option<File>) -> File {
    let content = read_bounded(path, MAX_FILE).map_err(|error| error.to_string());
    let parsed = content
        .and_then(|content| artifact::parse(path, &content).map_err(|error| error.to_string()));
    let stamp = stamp(metadata);
    match parsed {
        Ok(contract) => File { stamp, contract: contract.map(Arc::new), problem: None },
        Err(text) => {
            let contract = earlier.and_then(|file| file.contract);
            let text = match contract {
                Some(_) => format!("{text}: the version before is used"),
                None => text,
            };
            File { stamp, contract, problem: Some(text) }
        }
    }
}

fn stamp(metadata: &Metadata) -> Stamp {
    (metadata.mtime(), metadata.mtime_nsec(), metadata.len(), metadata.ino())
}
