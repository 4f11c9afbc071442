//! Atomic transactions: their fields, their bytes, their gas, and how blocks carry them.

mod account_nonce;
mod amounts;
mod credential;
mod evm_side;
mod export;
mod ext_data;
mod fee;
mod import;
pub mod json;
mod tx;
pub mod type_id;
mod unsigned;

pub use account_nonce::AccountNonce;
pub use amounts::AmountError;
pub use credential::AtomicCredential;
pub use evm_side::{EvmInput, EvmOutput};
pub use export::UnsignedExport;
pub use ext_data::{ExtDataError, ExtDataForm, decode_ext_data, encode_ext_data};
pub use fee::{
    BASE_GAS, FeeError, GAS_PER_BYTE, GAS_PER_EVM_INPUT, GAS_PER_EVM_OUTPUT, GAS_PER_SIGNATURE,
    dynamic_fee,
};
pub use import::UnsignedImport;
pub use tx::AtomicTx;
pub use unsigned::{UnsignedAtomicTx, nonce_key};
