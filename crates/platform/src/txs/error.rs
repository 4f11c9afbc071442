//! The reasons why bytes are no block of the P-Chain.

use esker_primitives::codec::CodecError;
use thiserror::Error;

/// The reason why bytes are no block of the P-Chain, or none that this version knows.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// The bytes end early, are too many, or have another version.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A type that this version does not know in this place: probably of a later fork than Etna.
    #[error("{what} of the P-Chain: unknown type {type_id}")]
    UnknownType {
        /// The place: `block`, `transaction`, `output`, ..
        what: &'static str,
        /// The type ID.
        type_id: u32,
    },
    /// An output that no chain can import.
    #[error("transaction {0} of the P-Chain exports a locked output")]
    LockedExport(esker_primitives::TxId),
    /// More outputs than have an index.
    #[error("transaction {0} of the P-Chain has too many outputs")]
    TooManyOutputs(esker_primitives::TxId),
}

/// Result of reading a part of a block.
pub(crate) type ParseResult<T> = Result<T, ParseError>;
