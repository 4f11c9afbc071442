//! The journal across a restart: pooled transactions of the pool and of the extension.

use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_primitives::B256;
use bytes::Bytes;
use esker_chain::ChainVm as _;
use esker_evm_state::types::Transaction;

use super::{Evm, SubmitError};
use crate::pool::{DropReason, PoolError, RefusedTxs};

/// The first byte of an entry: an EVM transaction follows, or one of the extension.
const EVM: u8 = 0;
const EXTENSION: u8 = 1;

impl Evm {
    /// All pooled transactions, in an order in which they can be pooled again.
    pub(super) fn journal(&self) -> Vec<Bytes> {
        let in_pool = self.pool().waiting().into_iter().map(|pooled| {
            let mut entry = vec![EVM];
            pooled.sent_form().encode_2718(&mut entry);
            Bytes::from(entry)
        });
        let in_extension = self.extension().waiting_txs().into_iter();
        let in_extension = in_extension.map(|tx| Bytes::from([&[EXTENSION], tx.as_ref()].concat()));
        in_pool.chain(in_extension).collect()
    }

    /// Pools an entry of [`Self::journal`]; true if the transaction is pooled again.
    pub(super) fn restore(&self, entry: &[u8]) -> bool {
        match entry.split_first() {
            Some((&EVM, mut tx)) => match Transaction::decode_2718(&mut tx) {
                Ok(decoded) if tx.is_empty() => self.restore_evm(decoded),
                Ok(_) | Err(_) => self.skip("it does not decode"),
            },
            Some((&EXTENSION, tx)) => self.extension().restore_tx(tx),
            Some(_) | None => self.skip("it is of no known kind"),
        }
    }

    fn restore_evm(&self, tx: Transaction) -> bool {
        let hash = *tx.tx_hash();
        match self.submit_uncounted(tx, RefusedTxs::None) {
            Ok(_) | Err(SubmitError::Pool(PoolError::AlreadyKnown)) => true,
            Err(error) => {
                // The node may have been killed between reading and removing the journal.
                if !self.is_mined(&hash) {
                    let reason = DropReason::Restart(error.to_string());
                    tracing::info!(chain = self.context().primary_alias(), %hash, %reason, "transaction dropped");
                    self.pool().note_dropped(hash, &reason, self.context().clock.now_ms());
                }
                false
            }
        }
    }

    pub(super) fn is_mined(&self, hash: &B256) -> bool {
        let found = self.context().store.snapshot().map(|reader| {
            let place = self.view(reader.as_ref()).location(hash);
            place.is_ok_and(|place| place.is_some())
        });
        found.unwrap_or(false)
    }

    fn skip(&self, why: &str) -> bool {
        tracing::error!(chain = self.name(), why, "an entry of the pool journal is skipped");
        false
    }
}
