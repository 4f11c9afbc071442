//! What `release` optimizes less, `dist` must optimize fully: profiles inherit the settings of packages.

use std::path::Path;

use anyhow::{Context, Result};
use toml::Table;

use crate::workspace;

const MANIFEST: &str = "Cargo.toml";
const FULL: i64 = 3;

pub(super) fn breaches() -> Result<Vec<String>> {
    let text = workspace::text(Path::new(MANIFEST)).with_context(|| format!("no {MANIFEST}"))?;
    Ok(faults(&toml::from_str(&text)?))
}

fn faults(manifest: &Table) -> Vec<String> {
    let levels = |profile: &str| {
        let packages = manifest.get("profile")?.get(profile)?.get("package")?.as_table()?.iter();
        let level = |(name, package): (&String, &toml::Value)| {
            Some((name.clone(), package.get("opt-level")?.as_integer()?))
        };
        Some(packages.filter_map(level).collect::<Vec<_>>())
    };
    let (release, dist) = (levels("release"), levels("dist").unwrap_or_default());
    let less = release.unwrap_or_default().into_iter().filter(|(_, level)| *level < FULL);
    let missing = less.filter(|(name, _)| !dist.contains(&(name.clone(), FULL)));
    missing
        .map(|(name, level)| {
            format!("{MANIFEST}: `{name}` has opt-level {level} in release, and not {FULL} in dist")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_of_release_that_dist_lacks_is_reported() {
        let manifest = |dist: &str| {
            let text = format!(
                "[profile.release.package]\na = {{ opt-level = 0 }}\nb = {{ opt-level = 3 }}\n[profile.dist.package]\n{dist}"
            );
            faults(&toml::from_str(&text).unwrap())
        };
        assert_eq!(manifest("a = { opt-level = 3 }"), [""; 0]);
        for dist in ["", "a = { opt-level = 2 }", "c = { opt-level = 3 }"] {
            assert_eq!(manifest(dist).len(), 1, "{dist}");
        }
    }
}
