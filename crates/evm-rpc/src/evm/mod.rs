//! `evm`, which clients call `eth`: one file a topic, one table a service
//! (docs/protocol/c-chain-rpc.md, "Services").

mod accepted;
mod accounts;
mod anvil_errors;
mod blocks;
mod call_bundle;
mod call_many;
mod calls;
mod capabilities;
mod chain;
mod config;
pub(crate) mod defaults;
mod failed_sends;
mod fees;
mod filters;
mod methods;
mod outcome;
mod printing;
mod proof;
mod reasons;
mod receipt_waits;
pub(crate) mod replayed;
pub(crate) mod running;
pub(crate) mod send;
mod send_failure;
mod sender_nonce;
mod simulate;
mod state;
mod storage;
mod table;
mod transact;
mod transactions;

pub(crate) use accepted::no_receipt;
pub(crate) use blocks::{block_reply, full_blocks, get_bad_blocks, get_block_by_number};
pub use failed_sends::FailedSends;
pub use filters::{FilterConfig, Filters, filter_methods};
pub use methods::{reading_methods, transacting_methods};
pub use receipt_waits::{DEFAULT_RECEIPT_WAIT, MAX_RECEIPT_WAIT, MAX_RECEIPT_WAITS, ReceiptWaits};
pub(crate) use send::{RawReply, send_by_password, sign_by_password, signed_transaction};
pub use send::{RawTxError, decode_transaction};
pub(crate) use sender_nonce::find_sent;
pub(crate) use state::AccountInfoReply;
pub use transact::{TransactApi, TransactConfig, TxSubmitter};
pub(crate) use transactions::{get_raw_transaction_by_hash, size_of_found};
