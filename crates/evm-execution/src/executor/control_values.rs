//! Values that clients of a development network set for all code: the chain ID, and signers of signatures.
//!
//! They are in the storage of an account that has no key and no code, so that each state has its own: blocks are executed
//! again with the values of their time, and snapshots, rollbacks and followers have them, too
//! (docs/protocol/c-chain-blocks.md, "Control values").

use alloy_primitives::{Address, U256, keccak256};
use esker_evm_state::state::{StateError, StateView};

use crate::rules::StorageKeys;

/// The account of the values: these 20 letters.
pub const CONTROL_VALUES: Address = Address::new(*b"esker:control-values");

/// Key of the chain ID.
pub const CHAIN_ID_KEY: U256 = U256::ZERO;

/// Length of a signature: r, s, v.
pub const SIGNATURE_LEN: usize = 65;

/// Key of the signer of a signature.
pub fn signer_key(signature: &[u8; SIGNATURE_LEN]) -> U256 {
    keccak256(signature).into()
}

/// The stored form of a chain ID. It is never 0, which says that none is set.
pub fn stored_chain_id(chain_id: u64) -> U256 {
    U256::from(chain_id) | IS_SET
}

/// The stored form of a signer. It is never 0, which says that none is set.
pub fn stored_signer(signer: Address) -> U256 {
    U256::from_be_slice(signer.as_slice()) | IS_SET
}

/// The chain ID that was set in a state; `None` if none was.
///
/// # Errors
/// The state can't be read.
pub fn set_chain_id_in(state: StateView<'_>, keys: StorageKeys) -> Result<Option<u64>, StateError> {
    Ok(chain_id_of(control_value(state, keys.slot(CHAIN_ID_KEY))?))
}

/// A value by its slot. A forked chain does not have the values of its source, and a recorder does not learn of this.
pub(super) fn control_value(state: StateView<'_>, slot: U256) -> Result<U256, StateError> {
    state.with_base(None).without_recorder().storage(&CONTROL_VALUES, slot)
}

/// The chain ID of a stored value; `None` if none is set.
pub(super) fn chain_id_of(stored: U256) -> Option<u64> {
    stored.bit(SET_BIT).then(|| stored.as_limbs()[0])
}

/// The signer of a stored value; `None` if none is set.
pub(super) fn signer_of(stored: U256) -> Option<Address> {
    stored.bit(SET_BIT).then(|| Address::from_word(stored.into()))
}

/// The bit above an address, and above a chain ID.
const SET_BIT: usize = 160;

const IS_SET: U256 = U256::from_limbs([0, 0, 1 << 32, 0]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_values_are_read_again() {
        for chain_id in [0, 1, 31_337, u64::MAX] {
            assert_eq!(chain_id_of(stored_chain_id(chain_id)), Some(chain_id));
        }
        for signer in [Address::ZERO, Address::repeat_byte(0xff)] {
            assert_eq!(signer_of(stored_signer(signer)), Some(signer));
        }
        assert_eq!((chain_id_of(U256::ZERO), signer_of(U256::ZERO)), (None, None));
    }
}
