//! Basic types of all crates: identifiers, their text forms, the consensus codec, keys and signatures, hashes, amounts,
//! time and locks.
//!
//! Encodings match the reference implementation to the byte, error texts included, since clients see them. Any bytes
//! give a value or an error in every decoder, and no allocation depends on a length that the input only claims.
//!
//! Nothing here depends on a chain, a store or a network connection. Time and randomness come in as parameters.
//!
//! Where to start: [`ids`] and [`codec`]; [`address`] over [`bech32`]; [`keys`]. Only [`sync`] uses types of locks.
//! [`thread_memory`] counts the memory of a thread.

pub mod address;
pub mod amount;
mod base58;
pub mod bech32;
pub mod cb58;
mod client_address;
pub mod clock;
pub mod codec;
mod excerpt;
mod files;
pub mod go;
pub mod hash;
pub mod hexfmt;
pub mod ids;
pub mod keys;
pub mod network;
mod password;
mod plain;
mod random;
pub mod sync;
pub mod thread_memory;

pub use amount::NanoNative;
pub use client_address::ClientAddress;
pub use clock::Clock;
pub use codec::{CodecError, Decode, Encode, Reader, Writer};
pub use excerpt::{MAX_QUOTED_CHARS, excerpt};
pub use files::{check_secret, open_regular, open_secret, read_at_most, read_bounded, read_input};
pub use ids::{AssetId, BlockId, ChainId, Id, IdError, NodeId, ShortId, SubnetId, TxId};
pub use keys::{PrivateKey, PublicKey, Signature, SignatureError};
pub use password::Password;
pub use plain::{is_invisible, plain_text};
pub use random::Randomness;
