//! The files of artifacts' folders.

use std::fs;
use std::path::{Path, PathBuf};

/// Most folders within each other.
const MAX_DEPTH: usize = 24;
/// Most entries of folders that are looked at.
const MAX_ENTRIES: usize = 200_000;
/// Folders that hold no artifacts of single contracts.
const SKIPPED: [&str; 3] = ["build-info", "cache", "node_modules"];

/// The files that may be artifacts, and why some were left out.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub(crate) files: Vec<(PathBuf, fs::Metadata)>,
    pub(crate) problems: Vec<(PathBuf, String)>,
    entries: usize,
}

impl Walk {
    /// Adds the files below a folder. Links are not followed.
    pub(crate) fn add(&mut self, root: &Path) {
        let mut folders = vec![(root.to_owned(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) => {
                    self.problems.push((folder, error.to_string()));
                    continue;
                }
            };
            for entry in entries.flatten() {
                self.entries += 1;
                if self.entries > MAX_ENTRIES {
                    let text =
                        format!("there are more than {MAX_ENTRIES} files: the rest is not read");
                    self.problems.push((root.to_owned(), text));
                    return;
                }
                // Of a link, that of the link.
                let Ok(metadata) = entry.metadata() else { continue };
                let path = entry.path();
                if metadata.is_dir() && !is_skipped(&path) {
                    match depth < MAX_DEPTH {
                        true => folders.push((path, depth + 1)),
                        false => self.problems.push((path, "it is too deep: not read".to_owned())),
                    }
                } else if metadata.is_file() && may_be_artifact(&path) {
                    self.files.push((path, metadata));
                }
            }
        }
    }
}

fn is_skipped(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || SKIPPED.contains(&&*name)
}

fn may_be_artifact(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".json") && !name.ends_with(".dbg.json")
}
