//! Why there is no profile.

use std::io;

use esker_primitives::excerpt;

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// One runs, here or for somebody else.
    #[error("cpu profiler already running")]
    AlreadyRunning,
    /// None runs for who asks.
    #[error("cpu profiler doesn't exist")]
    NotRunning,
    /// A file or folder can't be opened. The text is the reference's.
    #[error("open {}: {}", excerpt(path), reason(source))]
    Open {
        /// As it was named.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// A file can't be written to its end.
    #[error("write {}: {}", excerpt(path), reason(source))]
    Write {
        /// As it was named.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// The sampler does not start, or loses its samples.
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
