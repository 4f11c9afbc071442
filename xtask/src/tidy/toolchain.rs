//! The container image must be built with the compiler of the repository.

use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace;

const TOOLCHAIN: &str = "rust-toolchain.toml";
const IMAGE: &str = "contrib/docker/Dockerfile";

pub(super) fn breaches() -> Result<Vec<String>> {
    let read = |file: &str| workspace::text(Path::new(file)).with_context(|| format!("no {file}"));
    let toolchain: toml::Value = toml::from_str(&read(TOOLCHAIN)?)?;
    let channel = toolchain["toolchain"]["channel"].as_str();
    Ok(faults(&read(IMAGE)?, channel.with_context(|| format!("no channel in {TOOLCHAIN}"))?))
}

/// The lines that the image's recipe lacks for this compiler.
fn faults(recipe: &str, channel: &str) -> Vec<String> {
    let lines = [format!("FROM rust:{channel}-"), format!("ENV RUSTUP_TOOLCHAIN={channel}")];
    let is_missing = |begin: &String| !recipe.lines().any(|line| line.starts_with(begin.as_str()));
    let missing = lines.into_iter().filter(is_missing);
    missing.map(|line| format!("{IMAGE}: no line `{line}`, as in {TOOLCHAIN}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_compiler_is_reported() {
        let recipe = "FROM rust:1.2.3-bookworm AS build\nENV RUSTUP_TOOLCHAIN=1.2.3\n";
        assert_eq!(faults(recipe, "1.2.3"), [""; 0]);
        assert_eq!(faults(recipe, "1.2.4").len(), 2);
        assert_eq!(faults("FROM rust:1.2.3-bookworm AS build\n", "1.2.3").len(), 1);
    }
}
