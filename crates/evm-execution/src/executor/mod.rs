//! Executes transactions with revm under the chain's rules, over [`esker_evm_state::state`].
//!
//! - [`MachineParams`] and [`BlockContext`] are the chain and the block of the code, [`StateOverlay`] its state.
//! - [`BlockExecutor`] executes the transactions of a block one after the other, for the builder and for the
//!   verifier.
//! - [`Runner`] executes unsigned messages ([`crate::call`]), and shows every step to an inspector.
//! - [`TxError`] says why a transaction can't be part of a block, [`VmError`] how code failed. Their texts are the
//!   reference's.
//!
//! revm stays in here: outside of this module, only what watches code run names its types, through [`EvmContext`].

pub(crate) mod abi;
mod block;
mod block_body;
mod block_console;
mod block_context;
mod block_hashes;
mod block_touched;
mod bounds;
mod cached_account;
mod called;
mod check;
mod code_cache;
mod control_values;
mod database;
mod ends;
mod env;
mod errors;
mod ext_outcome;
mod failure;
mod handler;
mod instructions;
mod intrinsic;
mod message;
mod native_asset;
mod opcodes;
mod operands;
mod overlay;
mod params;
mod precompiles;
mod price;
mod receipt;
mod recover;
mod refund;
mod refund_counter;
mod runner;
mod stop_meter;
mod storage;
mod system_calls;

pub(crate) use check::blob_fee;
pub(crate) use ends::halt_error;
pub(crate) use env::{nonce_of, stop_execution};
pub(crate) use opcodes::{opcode_name, opcode_name_in};
pub(crate) use precompiles::MovedPrecompiles;
pub(crate) use price::price;
pub(crate) use refund::refund_counter;
pub(crate) use runner::{Inspector, interpreter, opcode};

pub use block::{BlockExecutionOutput, BlockExecutor};
pub use block_body::BlockBody;
pub use block_console::TxConsole;
pub use block_context::BlockContext;
pub use block_hashes::{BlockHashes, NoHashes};
pub use bounds::{Bounds, Stop, StopCheck};
pub use check::{WARP, has_warp_predicate};
pub use code_cache::CodeCache;
pub use control_values::{
    CHAIN_ID_KEY, CONTROL_VALUES, SIGNATURE_LEN, set_chain_id_in, signer_key, stored_chain_id,
    stored_signer,
};
pub use env::{ChainEnv, EvmContext};
pub use errors::{TxError, VmError};
pub use ext_outcome::ExtOutcome;
pub use failure::TxFailure;
pub use intrinsic::{floor_gas, intrinsic_gas};
pub use message::{Message, Origin};
pub use overlay::{Checkpoint, RemoteState, StateOverlay};
pub use params::{ChainParams, EVM_CHAIN_IDS, MachineParams, is_prohibited};
pub use precompiles::named_precompiles;
pub use recover::{
    SenderError, check_chain_id, check_form, check_signature_form, impersonated,
    impersonating_signature, recover_sender, recover_signer, sender_of,
};
pub use runner::{ExecutionEnd, Runner};
