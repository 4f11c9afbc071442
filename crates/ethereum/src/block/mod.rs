//! Headers and blocks, and their bytes.

mod body;
mod state_types;
mod stored;

pub use alloy_consensus::Header;
pub use body::{Block, parse_block, parse_header};
pub use esker_evm_state::types::{from_state_header, to_state_header};
pub use state_types::{block_hash, decode_block, encode_block, from_state_block, to_state_block};
pub use stored::{decode_stored, encode_stored, standard_form};
