//! Source files that log more than their logger: `debug_vmodule`.

use esker_settings::logging::LogLevel;

/// Most rules.
const MAX_RULES: usize = 100;

/// A text that is not a list of rules. The words are the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expect comma-separated list of filename=N")]
pub struct BadModuleRules;

/// The levels of source files. A pattern has folders and optionally a file: `pool/*` or `evm/src/pool/mod.rs`. `*` is
/// any number of folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModuleRules(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    pattern: Vec<String>,
    names_file: bool,
    level: LogLevel,
}

impl ModuleRules {
    /// Reads `pattern=level,..`; levels are numbers as of [`level_of_number`].
    pub(super) fn parse(text: &str) -> Result<Self, BadModuleRules> {
        let mut rules = Vec::new();
        for rule in text.split(',').filter(|rule| !rule.is_empty()) {
            let (pattern, level) = rule.split_once('=').ok_or(BadModuleRules)?;
            let (pattern, level) = (pattern.trim(), level.trim());
            if pattern.is_empty() || rules.len() == MAX_RULES {
                return Err(BadModuleRules);
            }
            let level = level_of_number(level.parse().map_err(|_| BadModuleRules)?);
            let mut parts: Vec<String> =
                pattern.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
            // Several `*` in a row mean the same as one, and each would multiply the matches to try.
            parts.dedup_by(|next, part| *next == "*" && *part == "*");
            rules.push(Rule {
                pattern: parts,
                names_file: pattern.ends_with(".rs") || pattern.ends_with(".go"),
                level,
            });
        }
        Ok(Self(rules))
    }

    /// The most verbose level of any rule.
    pub(super) fn most_verbose(&self) -> LogLevel {
        self.0.iter().map(|rule| rule.level).max().unwrap_or(LogLevel::Off)
    }

    /// The level of the first rule for a source file.
    pub(super) fn level_of(&self, file: &str) -> LogLevel {
        let parts: Vec<&str> = file.split('/').collect();
        let rule = self.0.iter().find(|rule| rule.matches(&parts));
        rule.map_or(LogLevel::Off, |rule| rule.level)
    }
}

impl Rule {
    fn matches(&self, parts: &[&str]) -> bool {
        let pattern: Vec<&str> = self.pattern.iter().map(String::as_str).collect();
        (0..parts.len()).any(|begin| continues(&pattern, &parts[begin..], self.names_file))
    }
}

/// Whether the parts of a path match those of a pattern. If the pattern names no file, one more part may follow.
fn continues(pattern: &[&str], parts: &[&str], names_file: bool) -> bool {
    match pattern {
        [] => parts.len() == usize::from(!names_file),
        ["*", rest @ ..] => (0..=parts.len()).any(|n| continues(rest, &parts[n..], names_file)),
        [part, rest @ ..] => {
            parts.first() == Some(part) && continues(rest, &parts[1..], names_file)
        }
    }
}

/// The level of a number, as older clients give it: 0 is failures that end the node, 5 and above is everything.
pub fn level_of_number(number: i64) -> LogLevel {
    match number {
        ..=0 => LogLevel::Fatal,
        1 => LogLevel::Error,
        2 => LogLevel::Warn,
        3 => LogLevel::Info,
        4 => LogLevel::Debug,
        5.. => LogLevel::Verbo,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_files_a_pattern_means() {
        let file = "crates/evm/src/pool/mod.rs";
        for (pattern, want) in [
            ("pool/*", true),
            ("pool", true),
            ("evm/*", true),
            ("src/pool", true),
            ("evm/pool", false),
            ("evm/*/pool", true),
            ("*", true),
            ("mod.rs", true),
            ("pool/mod.rs", true),
            ("evm/*/mod.rs", true),
            ("evm/mod.rs", false),
            ("oo/*", false),
            ("eth/*", false),
        ] {
            let rules = ModuleRules::parse(&format!("{pattern}=4")).unwrap();
            assert_eq!(rules.level_of(file) == LogLevel::Debug, want, "{pattern}");
        }
        let many = ModuleRules::parse(&format!("{}x=5", "*/".repeat(1000))).unwrap();
        assert_eq!(many.most_verbose(), LogLevel::Verbo);
        assert_eq!(many.level_of(&"a/".repeat(100)), LogLevel::Off);
    }

    #[test]
    fn texts() {
        for good in ["", ",", "eth/*=5", "a=1,b=9,", " a = 3 ", "a=-1"] {
            assert!(ModuleRules::parse(good).is_ok(), "{good}");
        }
        for bad in ["x", "a=", "=1", "a=b", "a=1=2", "a=1,b", "a=1.5", "a= ,b=2"] {
            assert_eq!(ModuleRules::parse(bad), Err(BadModuleRules), "{bad}");
        }
        let first = ModuleRules::parse("pool=2,pool/*=5").unwrap();
        assert_eq!(first.level_of("pool/mod.rs"), LogLevel::Warn);
    }
}
