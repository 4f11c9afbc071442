//! Names for what contracts do: functions, arguments, events and errors, from the artifacts of compilers.
//!
//! [`Folders`] reads the artifacts of Hardhat, Foundry and Ignition, [`compiled`] those of a compiler's output. A
//! [`Registry`] finds the contract of a runtime code and decodes calls, events and reverts; without artifacts it knows
//! the names of common standards. Decoding writes text as it reads, and stops at its bounds: what it costs depends on
//! the length of the text and never on what types and lengths claim. That is why it is not alloy's, which makes values
//! first. Texts have one line and no control characters.
//!
//! Nothing here knows a chain or a node. Where to start: [`Registry`], then [`Catalog`].

mod abi;
mod artifact;
mod bytecode;
mod catalog;
mod contract;
mod decode;
mod error;
mod folders;
mod init_code;
mod item;
mod proxy;
mod registry;
mod signatures;
mod standards;
mod text;
mod types;
mod vyper;
mod walk;

pub use abi::Abi;
pub use artifact::compiled;
pub use catalog::Catalog;
pub use contract::Contract;
pub use decode::{Argument, Decoded};
pub use error::ArtifactError;
pub use folders::{Folders, MAX_FILE, MAX_FILES, MAX_TOTAL, Scan};
pub use proxy::{ContractState, IMPLEMENTATION_SLOT, delegate_of};
pub use registry::{Found, Registry};
