//! The length of source files.

use anyhow::Result;

use crate::workspace;

/// Most lines of a source file. A longer file is listed with the reason.
const MOST: usize = 800;
/// Longer files: path, most lines, reason. The number may fall and never rise.
const LONGER: &[(&str, usize, &str)] = &[];

pub(super) fn breaches() -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for file in workspace::files()? {
        if file.extension().is_none_or(|e| e != "rs" && e != "mjs" && e != "cjs") {
            continue;
        }
        let lines = workspace::text(&file).unwrap_or_default().lines().count();
        let name = file.to_string_lossy();
        let most =
            LONGER.iter().find(|(long, ..)| *long == name).map_or(MOST, |(_, most, _)| *most);
        if lines > most {
            wrong.push(format!("{name}: {lines} lines, at most {most}"));
        }
    }
    Ok(wrong)
}
