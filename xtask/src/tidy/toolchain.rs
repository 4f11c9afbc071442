//! The container image must be built with the compiler of the repository, and the one of a packed binary must be the same.

use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace;

const TOOLCHAIN: &str = "rust-toolchain.toml";
const IMAGE: &str = "contrib/docker/Dockerfile";
const PACKED: &str = "contrib/docker/packed.Dockerfile";
/// The image in which both end.
const LAST_STAGE: &str = "FROM gcr.io/distroless/";

pub(super) fn breaches() -> Result<Vec<String>> {
    let read = |file: &str| workspace::text(Path::new(file)).with_context(|| format!("no {file}"));
    let toolchain: toml::Value = toml::from_str(&read(TOOLCHAIN)?)?;
    let channel = toolchain["toolchain"]["channel"].as_str();
    let recipe = read(IMAGE)?;
    let mut faults =
        faults(&recipe, channel.with_context(|| format!("no channel in {TOOLCHAIN}"))?);
    if last_stage(&recipe) != last_stage(&read(PACKED)?) {
        faults.push(format!("{PACKED}: its last stage is not that of {IMAGE}"));
    }
    Ok(faults)
}

/// The last stage without the copies from other stages.
fn last_stage(recipe: &str) -> Vec<&str> {
    let lines = recipe.lines().skip_while(|line| !line.starts_with(LAST_STAGE));
    lines.filter(|line| !line.starts_with("COPY ")).collect()
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

    #[test]
    fn last_stages_are_compared_without_their_sources() {
        let stage = |from: &str, port: u16| {
            format!("FROM a AS b\nUSER 1\n{LAST_STAGE}cc\nCOPY --from={from} a b\nEXPOSE {port}\n")
        };
        let [one, same, other] = [stage("x", 1), stage("y", 1), stage("x", 2)];
        assert_eq!(last_stage(&one), [&format!("{LAST_STAGE}cc"), "EXPOSE 1"]);
        assert_eq!(last_stage(&one), last_stage(&same));
        assert_ne!(last_stage(&one), last_stage(&other));
    }
}
