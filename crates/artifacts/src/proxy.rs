//! Contracts that pass their calls on to another one.

use alloy_primitives::{Address, B256, Bytes, b256};

use crate::registry::{Found, Registry};

/// The slot in which a proxy has the address of its implementation (ERC-1967).
pub const IMPLEMENTATION_SLOT: B256 =
    b256!("0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc");

/// The code of a clone up to the address (ERC-1167).
const CLONE: [u8; 10] = [0x36, 0x3d, 0x3d, 0x37, 0x3d, 0x3d, 0x3d, 0x36, 0x3d, 0x73];
/// The code of an account that delegates, up to the address (EIP-7702).
const DELEGATION: [u8; 3] = [0xef, 0x01, 0x00];

/// The contract that the code of a clone (ERC-1167) or of an account that delegates (EIP-7702) names.
pub fn delegate_of(code: &[u8]) -> Option<Address> {
    let rest = code.strip_prefix(&CLONE).or_else(|| code.strip_prefix(&DELEGATION))?;
    rest.first_chunk::<20>().map(Address::from)
}

/// A state with contracts.
pub trait ContractState {
    /// Why it can't be read.
    type Error;

    /// The hash of an account's code; `None` if it has none.
    fn code_hash(&mut self, address: Address) -> Result<Option<B256>, Self::Error>;

    /// The code of an account, which has this hash.
    fn code(&mut self, address: Address, hash: B256) -> Result<Bytes, Self::Error>;

    /// The value of a slot.
    fn slot(&mut self, address: Address, slot: B256) -> Result<B256, Self::Error>;
}

impl Registry {
    /// The contract at an address.
    ///
    /// # Errors
    /// The state can't be read.
    pub fn contract_at<S: ContractState>(
        &self,
        state: &mut S,
        address: Address,
    ) -> Result<Option<Found>, S::Error> {
        let Some(hash) = state.code_hash(address)? else { return Ok(None) };
        self.contract(hash, || state.code(address, hash))
    }

    /// The contract at an address, or that to which it passes calls on if only that one has an item.
    ///
    /// # Errors
    /// The state can't be read.
    pub fn contract_with<S: ContractState>(
        &self,
        state: &mut S,
        address: Address,
        has_item: impl Fn(&Found) -> bool,
    ) -> Result<Option<Found>, S::Error> {
        let own = self.contract_at(state, address)?;
        if self.is_empty() || own.as_ref().is_some_and(&has_item) {
            return Ok(own);
        }
        let Some(behind) = implementation(state, address)? else { return Ok(own) };
        let behind = self.contract_at(state, behind)?;
        Ok(behind.filter(|found| own.is_none() || has_item(found)).or(own))
    }
}

/// The contract to which a contract passes calls on.
fn implementation<S: ContractState>(
    state: &mut S,
    address: Address,
) -> Result<Option<Address>, S::Error> {
    let Some(hash) = state.code_hash(address)? else { return Ok(None) };
    if let Some(delegate) = delegate_of(&state.code(address, hash)?) {
        return Ok(Some(delegate));
    }
    let stored = state.slot(address, IMPLEMENTATION_SLOT)?;
    Ok((!stored.is_zero()).then(|| Address::from_word(stored)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_and_delegations_name_a_contract() {
        let address = Address::repeat_byte(7);
        let clone = [&CLONE[..], address.as_slice(), &[0x5a, 0xf4, 0x3d]].concat();
        let delegation = [&DELEGATION[..], address.as_slice()].concat();
        assert_eq!(delegate_of(&clone), Some(address));
        assert_eq!(delegate_of(&delegation), Some(address));
        for code in [&[][..], &DELEGATION, &delegation[..22], &clone[1..], &[0x60; 40]] {
            assert_eq!(delegate_of(code), None, "{code:?}");
        }
    }
}
