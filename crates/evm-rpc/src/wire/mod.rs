//! Forms on the wire: what arguments are read from, and what replies are written as
//! (docs/protocol/c-chain-rpc.md, "C-Chain JSON-RPC").
//!
//! The scalars have the reference's names ([`Uint64`], [`Big`], [`Data`], [`struct@Hash`], [`Addr`]) and both
//! directions: they are [`esker_go_json::args::Argument`]s with Go's texts, and serialise as hex. Replies are
//! structs whose members stand in the reference's order.

mod authorization;
mod block;
mod block_id;
pub mod call;
mod console;
mod data;
mod hex_or_decimal;
pub mod hexutil;
mod log_filter;
mod new_head;
mod number_forms;
mod plain_number;
mod proof;
mod quantity;
mod receipt;
mod receipt_query;
mod simulated;
mod storage_key;
mod transaction;
mod withdrawal;

pub use authorization::AuthorizationMembers;
pub(crate) use block::HashOrTransaction;
pub use block::{BlockReply, HeaderReply, Transactions};
pub use block_id::{BlockNumber, BlockNumberOrHash, BlockOrAbsent, BlockPlace};
pub(crate) use console::{ConsolePlace, ConsoleReply};
pub use data::{Addr, AssetId, Data, Hash, HexRef};
pub use hex_or_decimal::HexOrDecimal;
pub use log_filter::{AnyOf, LogBlocks, LogFilter, LogMatcher, MAX_TOPICS};
pub use new_head::NewHead;
pub(crate) use number_forms::of_text as number_of_text;
pub(crate) use plain_number::{PlainBlock, PlainBlockOrHash};
pub(crate) use proof::nodes as proof_nodes;
pub use proof::{ProofReply, StorageProofReply};
pub use quantity::{Big, Uint, Uint64};
pub use receipt::{LogReply, ReceiptForm, ReceiptParts, ReceiptRef, ReceiptReply, receipts_of};
pub use receipt_query::{MAX_RECEIPT_HASHES, ReceiptQuery};
pub use simulated::SimulatedBlockReply;
pub use storage_key::{KeyError, StorageKey};
pub(crate) use transaction::effective_price;
pub use transaction::{AccessTuple, TransactionForm, TransactionReply, size_of_transaction};
pub use withdrawal::WithdrawalMembers;
