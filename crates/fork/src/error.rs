//! Errors of forks.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use thiserror::Error;

use crate::json::FieldError;
use crate::proof::ProofFault;
use crate::source::SourceError;

/// The reason why a fork can't give a part of its base.
#[derive(Clone, Debug, Error)]
pub enum ForkError {
    /// A source has no answer.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The source does not have the block.
    #[error("{url}: there is no block {block}")]
    NoBlock {
        /// The source.
        url: String,
        /// The block as it was asked for.
        block: String,
    },
    /// A result has another form than that of its method.
    #[error("{url}: {method}: {fault}")]
    Form {
        /// The source.
        url: String,
        /// The method.
        method: &'static str,
        /// The field.
        fault: FieldError,
    },
    /// The fields of a header don't give its hash.
    #[error(transparent)]
    HeaderHash(Box<HeaderHashError>),
    /// The nodes of a proof don't belong to the state root.
    #[error("{url}: eth_getProof: {part}: {fault} (root {root})")]
    Proof {
        /// The source.
        url: String,
        /// What was to be proved.
        part: String,
        /// The root of the trie.
        root: B256,
        /// The fault.
        fault: Box<ProofFault>,
    },
    /// The balance of another asset of a C-Chain, of a source without proofs.
    #[error(
        "the balance of another asset, slot {slot:#x} of {address}, is only in proofs, and this fork has none: the source must have eth_getProof, and --fork-proofs not be false"
    )]
    AssetWithoutProof {
        /// The owner.
        address: Address,
        /// The key with the asset's ID.
        slot: U256,
    },
    /// The proofs at the block are for another root than that of its header.
    #[error(
        "{url}: eth_getProof: the proofs at block {block} are for the root {found}, and its header has {root}: the source is wrong, or headers of this chain don't carry the root of their own state; fork at another block, or without proofs"
    )]
    OtherRoot {
        /// The source.
        url: String,
        /// The height.
        block: u64,
        /// The root in the header.
        root: B256,
        /// The hash of the first node.
        found: B256,
    },
    /// Another source for a running fork does not have its block.
    #[error(transparent)]
    OtherBlock(Box<OtherBlock>),
    /// Another source for a running fork gives no proofs, and the fork has them.
    #[error("{0}; values of this fork are proved, so another source must give proofs, too")]
    ProofsNeeded(SourceError),
    /// A field has another value than is proved, or than was asked for.
    #[error(transparent)]
    Contradiction(Box<Contradiction>),
    /// The source's chain has another block at the fork's height now, and does not find blocks by hash.
    #[error(
        "{url}: block {number} is {found} now, and the fork is of {expected}: the source reorganized; fork again, at a final block"
    )]
    Reorganized {
        /// The source.
        url: String,
        /// The height.
        number: u64,
        /// The fork's block.
        expected: B256,
        /// The source's.
        found: String,
    },
    /// A trie node that no proof can show.
    #[error(
        "the node at path {path} of the {trie} is needed for a root, and no proof shows it: {reason}"
    )]
    NoProofOfNode {
        /// The trie.
        trie: String,
        /// The nibbles.
        path: String,
        /// The reason.
        reason: &'static str,
    },
    /// Code by a hash that no known account has.
    #[error("no known account of the fork has the code {0}")]
    UnknownCode(B256),
    /// Without a source, and not in the fork's file.
    #[error(transparent)]
    Offline(Box<Lacking>),
    /// Something else than state, without a source.
    #[error(
        "{method} is about the other chain up to block {block}: {} has only the state of that block, and the fork has no source: start with --fork-url", .file.display()
    )]
    NoHistory {
        /// The method.
        method: &'static str,
        /// Height of the fork's block.
        block: u64,
        /// What the fork reads in place of a source.
        file: PathBuf,
    },
    /// The state that was read is larger than allowed.
    #[error("the fork has read more than {0} bytes of state: raise its limit, or fork again")]
    Full(usize),
    /// More values than one call may ask for.
    #[error("{count} values were asked for at once, at most {max}")]
    TooMany {
        /// How many.
        count: usize,
        /// The most.
        max: usize,
    },
    /// The work ended without a result.
    #[error("the fork's reads were cancelled")]
    Cancelled,
    /// The values did not come in time.
    #[error("the fork's values did not come within {} ms", .0.as_millis())]
    Deadline(Duration),
    /// The cache or a pack.
    #[error(transparent)]
    File(#[from] FileError),
}

impl ForkError {
    /// Whether a source has given an answer that contradicts a proof, a hash, or the request.
    pub(crate) fn is_wrong_answer(&self) -> bool {
        matches!(
            self,
            Self::Form { .. }
                | Self::HeaderHash(_)
                | Self::Proof { .. }
                | Self::OtherRoot { .. }
                | Self::Contradiction(_)
                | Self::Reorganized { .. }
        )
    }
}

/// The fields of a header don't give its hash.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{url}: {method}: the header's hash is {claimed}, and its fields give {ethereum} (Ethereum) or {c_chain} (C-Chain): {}",
    reason(*.is_granite)
)]
pub struct HeaderHashError {
    /// The source.
    pub url: String,
    /// The method.
    pub method: &'static str,
    /// The hash that the source gives.
    pub claimed: B256,
    /// The hash in Ethereum's form.
    pub ethereum: B256,
    /// The hash in the C-Chain's form.
    pub c_chain: B256,
    /// Whether it has a field that the C-Chain's headers have since Granite.
    pub is_granite: bool,
}

fn reason(is_granite: bool) -> &'static str {
    match is_granite {
        true => {
            "it is a header of the C-Chain's Granite or of a later fork, whose form this version does not know; choose a block before \
             Granite (19 November 2025 on the main network) with --fork-block"
        }
        false => "a field is wrong, or the chain has another form of headers",
    }
}

/// A field has another value than is proved, or than was asked for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{url}: {method}: {part}: the source says {field} {claimed}, and it is {proven}")]
pub struct Contradiction {
    /// The source.
    pub url: String,
    /// The method.
    pub method: &'static str,
    /// The account or slot.
    pub part: String,
    /// The field.
    pub field: &'static str,
    /// Its value in the reply.
    pub claimed: String,
    /// The right value.
    pub proven: String,
}

impl From<Contradiction> for ForkError {
    fn from(contradiction: Contradiction) -> Self {
        Self::Contradiction(Box::new(contradiction))
    }
}

/// A source that does not have the block of a running fork.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{url} {found}, and the chain is on block {number} ({hash}) of chain {chain_id}: give the URL of a node that has it"
)]
pub struct OtherBlock {
    /// The source.
    pub url: String,
    /// What it has instead, after its name.
    pub found: String,
    /// The fork's height.
    pub number: u64,
    /// The fork's block.
    pub hash: B256,
    /// The chain of the block.
    pub chain_id: u64,
}

/// What a fork without a source does not have.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{first} of block {block}{} is not in {}, and the fork has no source: {advice}", more(*.count), .file.display())]
pub struct Lacking {
    /// How many parts.
    pub count: usize,
    /// The first.
    pub first: String,
    /// Height of the fork's block.
    pub block: u64,
    /// What the fork reads in place of a source.
    pub file: PathBuf,
    /// What to do.
    pub advice: String,
}

fn more(count: usize) -> String {
    match count.saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}

/// A fault of a cache file or a pack.
#[derive(Clone, Debug, Error)]
pub enum FileError {
    /// The system's error.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        error: Arc<std::io::Error>,
    },
    /// Another process has it.
    #[error("{} is in use by another process", .0.display())]
    Locked(PathBuf),
    /// Not a file of this kind.
    #[error("{}: not a file of a fork: {reason}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A record is damaged or not proved.
    #[error("{}: record {index} at byte {offset} ({kind}): {reason}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Position in the file, from 0.
        index: usize,
        /// Its first byte.
        offset: u64,
        /// The kind of the record.
        kind: &'static str,
        /// The fault.
        reason: String,
    },
    /// Nothing of the block was kept.
    #[error("there is no {}", .0.display())]
    Missing(PathBuf),
    /// The file is of another block.
    #[error("{}: it is of block {found}, not {expected}", path.display())]
    OtherBlock {
        /// The file.
        path: PathBuf,
        /// The block that was asked for.
        expected: B256,
        /// The file's.
        found: B256,
    },
}

impl FileError {
    pub(crate) fn io(path: &std::path::Path, error: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), error: Arc::new(error) }
    }
}

/// The name of an account in errors.
pub(crate) fn account_name(address: &Address) -> String {
    format!("account {address}")
}
