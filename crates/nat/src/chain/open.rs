//! Putting a chain and its extension together.

use std::sync::Arc;

use esker_evm::chain::Evm;

use super::parts::{AtomicExtension, Nat};
use super::waiting;

impl Nat {
    /// The chain `evm`, which was made with `extension`.
    pub fn new(evm: Arc<Evm>, extension: Arc<AtomicExtension>) -> Self {
        extension.set_chain(&evm);
        let nat = Self::over(evm, extension);
        waiting::register(&nat);
        nat
    }
}
