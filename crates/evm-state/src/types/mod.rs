//! The types of the C-Chain's blocks and state.

mod account;
mod block;
mod ethereum_header;
mod header;
mod receipt;
mod sealed;

pub use account::{Account, AccountCodec};
pub use block::{Block, EMPTY_EXT_DATA_HASH, Transaction, ext_data_hash};
pub use ethereum_header::{from_state_header, to_state_header};
pub use header::{EMPTY_OMMERS_HASH, Header};
pub use receipt::{Receipt, StoredReceipts, block_bloom, receipts_root};
pub use sealed::{SealedBlock, SealedHeader};
