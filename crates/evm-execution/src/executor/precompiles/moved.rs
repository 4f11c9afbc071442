//! Precompiled contracts that a simulation moved to other addresses.

use alloy_primitives::map::AddressMap;
use revm::precompile::{PrecompileSpecId, Precompiles as Standard};
use revm::primitives::{Address, AddressSet};

use crate::rules::{ExecutionRules, Revision};

/// Moved precompiled contracts of Ethereum. Those of native assets and warp can't be moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MovedPrecompiles(AddressMap<Address>);

impl MovedPrecompiles {
    /// The original address of the contract at an address; an address without a contract if it was moved away.
    pub(super) fn resolve(&self, address: Address) -> Address {
        self.0.get(&address).copied().unwrap_or(address)
    }

    /// Whether a precompiled contract of Ethereum is at this address.
    pub(crate) fn has(&self, rules: &ExecutionRules, address: Address) -> bool {
        standard(rules).get(&self.resolve(address)).is_some()
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

/// Ethereum's precompiled contracts under these rules.
pub(super) fn standard(rules: &ExecutionRules) -> &'static Standard {
    Standard::new(match rules.revision {
        Revision::Frontier
        | Revision::Homestead
        | Revision::TangerineWhistle
        | Revision::SpuriousDragon => PrecompileSpecId::HOMESTEAD,
        Revision::Byzantium | Revision::Constantinople | Revision::Petersburg => {
            PrecompileSpecId::BYZANTIUM
        }
        Revision::Istanbul => PrecompileSpecId::ISTANBUL,
        Revision::Berlin | Revision::London | Revision::Paris | Revision::Shanghai => {
            PrecompileSpecId::BERLIN
        }
        Revision::Cancun => PrecompileSpecId::CANCUN,
        Revision::Prague => PrecompileSpecId::PRAGUE,
        Revision::Osaka => PrecompileSpecId::OSAKA,
    })
}
