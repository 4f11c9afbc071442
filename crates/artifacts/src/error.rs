//! Why something is not an artifact.

use esker_primitives::excerpt;
use thiserror::Error;

/// Why something is not an artifact.
#[derive(Debug, Error)]
pub enum ArtifactError {
    /// It is not JSON of the form.
    #[error("it is not an artifact: {}", json_text(.0))]
    Json(#[from] serde_json::Error),
    /// Its code is neither hex digits nor places for libraries.
    #[error("its bytecode is not hex")]
    Code,
    /// There are too many contracts.
    #[error("it has more than {0} contracts")]
    Contracts(usize),
}

/// The error of the reader, without the long texts that it repeats.
fn json_text(error: &serde_json::Error) -> String {
    excerpt(&error.to_string()).into_owned()
}
