//! The reasons why there is no profile.

use std::io;

use esker_primitives::excerpt;

/// The reason why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// A profile is running already, possibly for another caller.
    #[error("cpu profiler already running")]
    AlreadyRunning,
    /// The caller has no running profile.
    #[error("cpu profiler doesn't exist")]
    NotRunning,
    /// A file or folder can't be opened. The text is the reference's.
    #[error("open {}: {}", excerpt(path), reason(source))]
    Open {
        /// The path as the caller gave it.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// A file can't be written completely.
    #[error("write {}: {}", excerpt(path), reason(source))]
    Write {
        /// The path as the caller gave it.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// The sampler did not start, or lost its samples.
    #[error("cpu profiler: {0}")]
    Sampler(String),
}

/// The system's words, as Go has them: in small letters, without the number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}
