//! Settings of reading methods.

/// Blocks whose state a pruning node keeps, and whose proofs it makes.
pub const PRUNED_BLOCKS: u64 = 32;

/// How far back proofs are made (docs/decisions.md, "Proof window").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofWindow {
    /// The state of any block.
    Any,
    /// The states of the last block and of this many before it.
    Blocks(u64),
}

impl ProofWindow {
    /// The window of a node: archive nodes choose it, 0 meaning any block; pruning ones have
    /// [`PRUNED_BLOCKS`].
    pub const fn new(is_archive: bool, historical_proof_query_window: u64) -> Self {
        match (is_archive, historical_proof_query_window) {
            (true, 0) => Self::Any,
            (true, blocks) => Self::Blocks(blocks),
            (false, _) => Self::Blocks(PRUNED_BLOCKS),
        }
    }
}

/// Settings of reading methods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadConfig {
    /// Whether a number above the last accepted block is an unknown block instead of an error of its own.
    pub allow_unfinalized_queries: bool,
    /// Whether the network is one for development, whose tools expect an error code of every revert, and read a null
    /// block as the last one (docs/decisions.md, "Tools made for anvil").
    pub is_development: bool,
    /// Whether answers are those of Hardhat's node where anvil's differ (docs/from-anvil.md, "In the place of Hardhat's node").
    pub hardhat_answers: bool,
    /// Whether answers are those of anvil where geth's differ (docs/from-anvil.md, "In the place of anvil").
    pub anvil_answers: bool,
    /// Whether no price of a call is too low, as with anvil and Hardhat.
    pub calls_take_any_price: bool,
    /// How far back proofs are made.
    pub proof_window: ProofWindow,
    /// The answer of `web3_clientVersion`.
    pub client_version: String,
    /// The answer of `net_version`: 1 on the public networks, otherwise the chain ID (docs/decisions.md, "Network
    /// version").
    pub net_version: String,
    /// Blocks from the last one back to the `safe` one; `finalized` is twice as far back, as with anvil. 0: both are the
    /// last block.
    pub slots_in_an_epoch: u64,
}
