//! The machine's result for a bundle.

use std::fmt;

/// The machine's result for a bundle. [`Verdict::Valid`] and [`Verdict::Invalid`] depend only on the bundle and its
/// parent's state, so all correct nodes agree on them. The other verdicts describe this node's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The bundle was executed on its parent; its writes are kept under its ID.
    Valid,
    /// The bundle, or one of its ancestors, breaks a rule. This is permanent.
    Invalid(String),
    /// The bundle, or one of its ancestors, is ahead of the clock. The engine decides whether to wait.
    NotYet {
        /// The bundle may be valid from this Unix time in ms.
        until_ms: u64,
        /// The reason.
        reason: String,
    },
    /// The parent's state is unknown, and `ancestry` does not connect it to a known state.
    ParentMissing,
    /// The bundle is final.
    AlreadyFinal,
    /// Another bundle is final at its height, or at an ancestor's height.
    Abandoned,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Valid => f.write_str("valid"),
            Self::Invalid(reason) | Self::NotYet { reason, .. } => f.write_str(reason),
            Self::ParentMissing => f.write_str("the parent bundle is unknown"),
            Self::AlreadyFinal => f.write_str("the bundle is final already"),
            Self::Abandoned => f.write_str("another bundle is final in its place"),
        }
    }
}
