//! Options of a fork, and whom it trusts.

use std::time::Duration;

use crate::cache::SharedOptions;

/// Whether values are read with proofs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProofMode {
    /// A source without proofs is refused.
    Required,
    /// With proofs if the source has them. Wrong proofs are an error also then.
    #[default]
    IfAvailable,
    /// Without.
    Never,
}

/// What the values of a fork rest on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Each value is proved against the state root of the block.
    Proven,
    /// The source's word; why there are no proofs.
    Claimed(String),
}

/// Options of a fork.
#[derive(Clone, Debug)]
pub struct ForkOptions {
    /// Whether values are read with proofs.
    pub proofs: ProofMode,
    /// Takes a block whose header has a form that this program does not know, so that its hash can't be recomputed.
    pub accepts_unknown_header: bool,
    /// Reads the code of each account in the same request as the account.
    pub reads_code_with_account: bool,
    /// Most bytes of state in memory, approximately; also the largest pack.
    pub max_state_bytes: usize,
    /// Most values that one call of `fetch` may ask for.
    pub max_wants: usize,
    /// The time that one call of `fetch` may take.
    pub deadline: Duration,
    /// The cache that this fork shares with others.
    pub shared: Option<SharedOptions>,
}

impl Default for ForkOptions {
    fn default() -> Self {
        Self {
            proofs: ProofMode::default(),
            accepts_unknown_header: false,
            reads_code_with_account: true,
            max_state_bytes: 1 << 30,
            max_wants: 100_000,
            deadline: Duration::from_secs(120),
            shared: None,
        }
    }
}
