//! Why a text or a TOML value is not the value of a setting.

use thiserror::Error;

/// The reason why a text or a TOML value is not the value of a setting. Whoever reports it adds the setting's name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ValueError {
    /// It has another form.
    #[error("expected {0}")]
    Form(&'static str),
    /// The TOML value has another type.
    #[error("expected {expected}, found {}", with_article(found))]
    Type {
        /// The expected form.
        expected: &'static str,
        /// TOML's name of the type.
        found: &'static str,
    },
    /// An entry of a TOML list has another type.
    #[error("in the list: expected a string, found {}", with_article(.0))]
    EntryType(&'static str),
    /// An entry of a TOML list has the character that separates entries in the text form.
    #[error("an entry of the list holds '{0}'")]
    Separator(char),
    /// The TOML number exceeds what can be read.
    #[error("the number is too large")]
    LargeNumber,
    /// It is no whole number within the limits.
    #[error("expected a whole number from {least} to {most}")]
    Number {
        /// The least number.
        least: u64,
        /// The greatest number.
        most: u64,
    },
    /// An entry is neither an IP address nor a range of them.
    #[error("expected IP addresses or ranges such as 10.0.0.0/8, not \"{0}\"")]
    IpRange(String),
    /// An entry is no address of an X-Chain.
    #[error("expected addresses such as X-avax1..., not \"{0}\"")]
    XAddress(String),
    /// The time exceeds a hundred years.
    #[error("the time is too long")]
    LongTime,
    /// The TOML value is a time without its unit.
    #[error("a time needs its unit: \"30s\"")]
    NoUnit,
}

fn with_article(kind: &str) -> String {
    let vowel = kind.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {kind}", if vowel { "an" } else { "a" })
}
