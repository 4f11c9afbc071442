//! Settings of the log: levels of the loggers, format of the lines, rotation of the files.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// Log levels, with the reference's names. This node has no events of levels `FATAL` and `TRACE`, so these are
/// equivalent to `ERROR` and `INFO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// Failures that end the node.
    Fatal,
    /// Failures.
    Error,
    /// Events that need an operator's attention.
    Warn,
    /// Events of interest to an operator.
    Info,
    /// The same as `Info`.
    Trace,
    /// Details for finding faults.
    Debug,
    /// Everything.
    Verbo,
}

impl LogLevel {
    /// All levels, from quiet to verbose.
    pub const ALL: [Self; 8] = [
        Self::Off,
        Self::Fatal,
        Self::Error,
        Self::Warn,
        Self::Info,
        Self::Trace,
        Self::Debug,
        Self::Verbo,
    ];

    /// The name in capitals, as in the admin API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "OFF",
            Self::Fatal => "FATAL",
            Self::Error => "ERROR",
            Self::Warn => "WARN",
            Self::Info => "INFO",
            Self::Trace => "TRACE",
            Self::Debug => "DEBUG",
            Self::Verbo => "VERBO",
        }
    }

    /// Whether a logger of this level logs the event.
    pub fn includes(self, level: &tracing::Level) -> bool {
        let least = match *level {
            tracing::Level::ERROR => Self::Fatal,
            tracing::Level::WARN => Self::Warn,
            tracing::Level::INFO => Self::Info,
            tracing::Level::DEBUG => Self::Debug,
            tracing::Level::TRACE => Self::Verbo,
        };
        self >= least
    }

    /// The level whose place in [`Self::ALL`] is `n`.
    pub const fn from_u8(n: u8) -> Self {
        Self::ALL[n as usize & 7]
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An unknown level name.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("unknown log level: {0}")]
pub struct UnknownLevel(pub String);

impl FromStr for LogLevel {
    type Err = UnknownLevel;

    /// Accepts any letter case.
    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        Self::ALL
            .into_iter()
            .find(|level| level.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownLevel(text.to_owned()))
    }
}

/// Levels of one logger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Level of its file.
    pub file: LogLevel,
    /// Level of the terminal.
    pub display: LogLevel,
}

impl Levels {
    /// The more verbose of the two.
    pub fn most_verbose(self) -> LogLevel {
        self.file.max(self.display)
    }
}

/// The times at which a file is rotated, and the number of files that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// A file is rotated before it exceeds this size in bytes.
    pub max_bytes: u64,
    /// A file is rotated at the next line once its first line is older; `None`: by size only.
    pub interval: Option<Duration>,
    /// Number of rotated files per logger: `X.log.1` is the newest.
    pub max_files: u32,
    /// A rotated file is removed once its last line is older; `None`: whatever its age.
    pub max_age: Option<Duration>,
}

/// The format of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text, with colours on a terminal.
    Auto,
    /// Text without colours.
    Plain,
    /// Text with colours, also without a terminal.
    Colors,
    /// One JSON object per line.
    Json,
}

/// The configuration of logging.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// Format of the lines.
    pub format: LogFormat,
    /// Levels of `main`.
    pub main: Levels,
    /// Loggers of the chains: primary alias and levels.
    pub chains: Vec<(String, Levels)>,
    /// Folder of the files; `None` disables them.
    pub folder: Option<PathBuf>,
    /// The times at which files are rotated, and the number of files that are kept.
    pub rotation: Rotation,
    /// Whether the newest lines are kept in memory, for the admin API.
    pub keeps_tail: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_case() {
        for level in LogLevel::ALL {
            assert_eq!(level.name().to_lowercase().parse(), Ok(level));
            assert_eq!(LogLevel::from_u8(level as u8), level);
        }
        assert_eq!("loud".parse::<LogLevel>().unwrap_err().to_string(), "unknown log level: loud");
    }

    #[test]
    fn each_level_shows_the_quieter_ones() {
        assert!(!LogLevel::Off.includes(&tracing::Level::ERROR));
        assert!(LogLevel::Fatal.includes(&tracing::Level::ERROR));
        assert!(!LogLevel::Trace.includes(&tracing::Level::DEBUG));
        assert!(LogLevel::Debug.includes(&tracing::Level::DEBUG));
        assert!(!LogLevel::Debug.includes(&tracing::Level::TRACE));
        assert!(LogLevel::Verbo.includes(&tracing::Level::TRACE));
    }
}
