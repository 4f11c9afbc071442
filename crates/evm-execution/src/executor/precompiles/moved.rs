//! Precompiled contracts that a simulation moved to other addresses.

use alloy_primitives::map::AddressMap;
use revm::precompile::{PrecompileSpecId, Precompiles as Standard};
use revm::primitives::{Address, AddressSet};

use crate::rules::{Instructions, PhaseRules};

/// Moved precompiled contracts of Ethereum. Those of native assets and warp can't be moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MovedPrecompiles(AddressMap<Address>);

impl MovedPrecompiles {
    /// The original address of the contract at an address; an address without a contract if it was moved away.
    pub(super) fn resolve(&self, address: Address) -> Address {
        self.0.get(&address).copied().unwrap_or(address)
    }

    /// Whether a precompiled contract of Ethereum is at this address.
    pub(crate) fn has(&self, phase: &PhaseRules, address: Address) -> bool {
        standard(phase).get(&self.resolve(address)).is_some()
    }

    /// Copies the contract at `from` to `to`, where it replaces any other.
    pub(crate) fn put(&mut self, from: Address, to: Address) {
        self.0.insert(to, self.resolve(from));
    }

    /// Removes the contract at an address.
    pub(crate) fn take(&mut self, address: Address) {
        // The zero address has no precompiled contract.
        self.0.insert(address, Address::ZERO);
    }

    /// Updates the addresses that count as accessed.
    pub(super) fn apply(&self, warm: &mut AddressSet) {
        for (address, contract) in &self.0 {
            match contract.is_zero() {
                true => warm.remove(address),
                false => warm.insert(*address),
            };
        }
    }
}

/// Ethereum's precompiled contracts of a phase.
pub(super) fn standard(phase: &PhaseRules) -> &'static Standard {
    Standard::new(match phase.instructions {
        Instructions::London | Instructions::Shanghai => PrecompileSpecId::BERLIN,
        Instructions::Cancun => PrecompileSpecId::CANCUN,
    })
}
