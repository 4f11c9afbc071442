//! The receipts of a subscription.

use std::borrow::Cow;
use std::collections::BTreeSet;

use alloy_primitives::B256;
use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError, decode_struct};

use super::Hash;

/// Transactions that one subscription may name.
pub const MAX_RECEIPT_HASHES: usize = 200;

/// Go's `filters.TransactionReceiptsQuery`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiptQuery {
    hashes: Option<Vec<Hash>>,
}

impl ReceiptQuery {
    /// The transactions; `None`: all.
    ///
    /// # Errors
    /// There are more than [`MAX_RECEIPT_HASHES`]. The text is geth's.
    pub fn transactions(self) -> Result<Option<BTreeSet<B256>>, &'static str> {
        let hashes = self.hashes.unwrap_or_default();
        if hashes.len() > MAX_RECEIPT_HASHES {
            return Err("exceed max number of transaction hashes allowed per transactionReceipts \
                        subscription");
        }
        let hashes: BTreeSet<_> = hashes.into_iter().map(|Hash(hash)| hash).collect();
        Ok((!hashes.is_empty()).then_some(hashes))
    }
}

esker_rpc::schema!(ReceiptQuery, "ReceiptQuery", |generator| {
    "title": "receipt query",
    "type": "object",
    "properties": {
        "transactionHashes": {
            "type": ["array", "null"],
            "items": generator.subschema_for::<Hash>(),
            "maxItems": MAX_RECEIPT_HASHES,
        },
    },
});

impl Argument for ReceiptQuery {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("filters.TransactionReceiptsQuery")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut query = Self::default();
        decode_struct(
            value,
            "filters.TransactionReceiptsQuery",
            &mut [("transactionHashes", &mut query.hashes)],
        )?;
        Ok(query)
    }
}
