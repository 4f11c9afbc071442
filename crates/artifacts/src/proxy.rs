//! Contracts that pass their calls on to another one.

use alloy_primitives::{Address, B256, b256};

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
