//! Precompiled contracts at other addresses, on request of a simulation.

use alloy_primitives::map::AddressMap;
use revm::precompile::{PrecompileSpecId, Precompiles as Standard};
use revm::primitives::{Address, AddressSet};

use crate::rules::{Instructions, PhaseRules};

/// Which of Ethereum's precompiled contracts are elsewhere. Those of native assets and warp stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MovedPrecompiles(AddressMap<Address>);

impl MovedPrecompiles {
    /// Whose contract runs at an address; an address without contract where none does any more.
    pub(super) fn resolve(&self, address: Address) -> Address {
        self.0.get(&address).copied().unwrap_or(address)
    }

    /// Is there one of Ethereum's at this address?
    pub(crate) fn has(&self, phase: &PhaseRules, address: Address) -> bool {
        standard(phase).get(&self.resolve(address)).is_some()
    }

    /// Puts the one that is at `from` to `to` as well; what was there is lost.
    pub(crate) fn put(&mut self, from: Address, to: Address) {
        self.0.insert(to, self.resolve(from));
    }

    /// Takes the one at an address away.
    pub(crate) fn take(&mut self, address: Address) {
        // Nothing is precompiled at the zero address.
        self.0.insert(address, Address::ZERO);
    }

    /// Brings the addresses that count as accessed up to date.
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
