//! Suggestions for misspelled names.

/// Longest name that is compared; a longer one is not a misspelling.
const MAX_NAME: usize = 100;

/// The nearest of `known`, unless all are too different from `name`.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_NAME {
        return None;
    }
    let plain = normal(name);
    known
        .into_iter()
        .map(|candidate| (strsim::generic_levenshtein(&plain, &normal(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `, did you mean "..."?`, or nothing.
pub(super) fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map(|known| format!(", did you mean \"{known}\"?")).unwrap_or_default()
}

/// Ignores case and separators.
fn normal(name: &str) -> Vec<u8> {
    name.bytes().filter(|b| !matches!(b, b'-' | b'_')).map(|b| b.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_the_nearest_name() {
        let known = ["http-host", "http-port", "log-level", "index-enabled"];
        for (typed, meant) in [
            ("htpp-port", Some("http-port")),
            ("http_host", Some("http-host")),
            ("loglevel", Some("log-level")),
            ("LOG-LEVEL", Some("log-level")),
            ("index-enable", Some("index-enabled")),
            ("bananas", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
        assert_eq!(nearest(&"x".repeat(1000), known), None);
    }
}
