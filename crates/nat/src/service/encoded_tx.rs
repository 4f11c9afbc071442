//! A transaction in the requested encoding.

use esker_chain::ChainContext;
use esker_rpc::wire::{Encoding, EncodingError};
use esker_transactions::nat::AtomicTx;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::json;

/// The form of a transaction in a reply.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum EncodedTx {
    /// Its bytes in one of the hex encodings.
    Text(String),
    /// The transaction itself.
    #[schemars(with = "esker_transactions::nat::json::TxSchema")]
    Object(Box<RawValue>),
}

impl EncodedTx {
    /// A transaction of the chain.
    pub(super) fn new(
        context: &ChainContext,
        tx: &AtomicTx,
        encoding: Encoding,
    ) -> Result<Self, EncodingError> {
        match encoding {
            Encoding::Json => Ok(Self::Object(json::tx_json(tx, context))),
            Encoding::Hex | Encoding::HexC | Encoding::HexNc => {
                Ok(Self::Text(encoding.encode(tx.bytes())?))
            }
        }
    }
}
