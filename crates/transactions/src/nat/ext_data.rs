//! How a block carries atomic transactions: the bytes of its `extData`
//! (docs/protocol/atomic-transactions.md, "Ext data").

use bytes::Bytes;
use esker_primitives::codec::{self, CodecError, Reader, Writer};

use super::AtomicTx;

/// The two forms of ext data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtDataForm {
    /// Before Apricot 5: one transaction, as it is.
    Single,
    /// A list of transactions.
    Batch,
}

/// The reason why ext data holds no transactions. Texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtDataError {
    /// No transaction.
    #[error("failed to unmarshal atomic transaction (pre-AP5): {0}")]
    Single(CodecError),
    /// No list of transactions.
    #[error("failed to unmarshal atomic tx (AP5) due to {0}")]
    Batch(CodecError),
    /// An empty list: no transactions are no bytes.
    #[error("cannot build a block with non-empty extra data and zero atomic transactions")]
    NoTransactions,
}

/// The transactions of a block; none of no bytes.
pub fn decode_ext_data(bytes: &[u8], form: ExtDataForm) -> Result<Vec<AtomicTx>, ExtDataError> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    match form {
        ExtDataForm::Single => {
            AtomicTx::parse(bytes).map(|tx| vec![tx]).map_err(ExtDataError::Single)
        }
        ExtDataForm::Batch => {
            let txs = decode_batch(bytes).map_err(ExtDataError::Batch)?;
            if txs.is_empty() { Err(ExtDataError::NoTransactions) } else { Ok(txs) }
        }
    }
}

fn decode_batch(bytes: &[u8]) -> Result<Vec<AtomicTx>, CodecError> {
    let mut r = Reader::versioned(bytes, codec::MAX_SIZE)?;
    let txs = r.values()?;
    r.finish()?;
    Ok(txs)
}

/// The ext data of a block from Apricot 5 on; nothing for no transactions.
pub fn encode_ext_data(txs: &[AtomicTx]) -> Bytes {
    if txs.is_empty() {
        return Bytes::new();
    }
    let mut w = Writer::new();
    w.u16(codec::VERSION);
    w.values(txs);
    Bytes::from(w.into_vec())
}
