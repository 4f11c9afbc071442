//! `cargo xtask goldens FOLDER`: newer recordings of the exchanges that tests replay.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Compares each `*.io` file of `tests/golden` with its namesake in another folder; `--update` copies those that
/// differ.
#[expect(clippy::print_stdout, reason = "its result")]
pub fn run(args: &[String]) -> Result<()> {
    let update = args.iter().any(|a| a == "--update");
    let Some(from) = args.iter().find(|a| !a.starts_with("--")).map(PathBuf::from) else {
        bail!("which folder?");
    };
    let ours = workspace::root().join("tests").join("golden");
    let mut different: u64 = 0;
    for group in ["node", "x"] {
        for entry in std::fs::read_dir(from.join(group)).context(group)? {
            let name = PathBuf::from(entry?.file_name());
            if name.extension().is_some_and(|e| e == "io") {
                let (theirs, ours) = (from.join(group).join(&name), ours.join(group).join(&name));
                if differs(&theirs, &ours)? {
                    different = different.saturating_add(1);
                    println!("{group}/{}", name.display());
                    if update {
                        std::fs::copy(&theirs, &ours)?;
                    }
                }
            }
        }
    }
    if different > 0 && !update {
        bail!("{different} files differ");
    }
    Ok(())
}

fn differs(theirs: &Path, ours: &Path) -> Result<bool> {
    let theirs = std::fs::read(theirs).with_context(|| theirs.display().to_string())?;
    Ok(std::fs::read(ours).map_or(true, |ours| exchanges(&ours) != exchanges(&theirs)))
}

/// The lines of a recording without its comments, which are this repository's own.
fn exchanges(recording: &[u8]) -> Vec<&[u8]> {
    recording.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"#")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_do_not_differ() {
        let ours = b"# docs/decisions.md, \"Fee history\"\n>> {}\n<< 1\n";
        assert_eq!(exchanges(ours), exchanges(b"# another\n>> {}\n<< 1\n"));
        assert_ne!(exchanges(ours), exchanges(b"# another\n>> {}\n<< 2\n"));
    }
}
