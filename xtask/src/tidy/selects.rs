//! The order in which the engine polls.

use anyhow::Result;

use crate::workspace;

/// The code that runs in the simulation of validators (docs/testing.md, "What a seed decides").
const SIMULATED: &str = "crates/engine-bft/src/";
/// Without `biased` the macro takes the order of its branches from a generator that no seed sets.
const SELECT: &str = concat!("tokio::select", "! {");

pub(super) fn breaches() -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for file in workspace::files()? {
        let name = file.to_string_lossy();
        if !name.starts_with(SIMULATED) {
            continue;
        }
        let text = workspace::text(&file).unwrap_or_default();
        wrong.extend(random(&text).map(|line| format!("{name}:{line}: not `biased`")));
    }
    Ok(wrong)
}

/// The lines of selects whose order is random.
fn random(text: &str) -> impl Iterator<Item = usize> {
    let next = text.lines().skip(1).chain([""]);
    let lines = text.lines().zip(next).zip(1..);
    lines
        .filter(|((line, next), _)| line.trim_end().ends_with(SELECT) && next.trim() != "biased;")
        .map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects() {
        let text = format!("a\nlet b = {SELECT}\n    biased;\n}}\n{SELECT}\n    () = c => {{}}\n");
        assert_eq!(random(&text).collect::<Vec<_>>(), [5]);
        assert_eq!(random(SELECT).collect::<Vec<_>>(), [1]);
        assert_eq!(random("").count(), 0);
    }
}
