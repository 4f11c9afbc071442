//! Descriptions of arguments.

use serde_json::Value;

/// An argument by its position.
#[derive(Debug)]
pub struct Positional {
    /// Its schema.
    pub schema: Value,
    /// Whether it must be given.
    pub is_required: bool,
}
