//! Functions, events and errors of common standards and contracts, which are known without artifacts.

use std::sync::OnceLock;

use crate::abi::Abi;
use crate::signatures;

/// One item a line.
const LINES: &str = include_str!("standards.txt");

/// The items of the standards.
pub(crate) fn abi() -> &'static Abi {
    static ABI: OnceLock<Abi> = OnceLock::new();
    ABI.get_or_init(|| {
        let mut abi = Abi::default();
        let items = LINES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for (kind, item) in items.filter_map(signatures::parse) {
            abi.push(kind, false, item);
        }
        abi
    })
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, hex};

    use super::*;

    #[test]
    fn every_line_is_an_item_that_is_there_once() {
        let lines: Vec<_> =
            LINES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        for line in &lines {
            assert!(signatures::parse(line).is_some(), "{line}");
        }
        let abi = abi();
        let items = abi.functions.len() + abi.events.len() + abi.errors.len();
        assert_eq!(items, lines.len());
    }

    #[test]
    fn selectors_are_the_known_ones() {
        let abi = abi();
        for (selector, signature) in [
            (hex!("a9059cbb"), "transfer(address,uint256)"),
            (hex!("23b872dd"), "transferFrom(address,address,uint256)"),
            (hex!("82ad56cb"), "aggregate3((address,bool,bytes)[])"),
            (hex!("d505accf"), "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)"),
            (hex!("2e1a7d4d"), "withdraw(uint256)"),
            (hex!("2eb2c2d6"), "safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)"),
        ] {
            assert_eq!(abi.functions[&selector].signature(), signature);
        }
        assert_eq!(abi.errors[&hex!("e450d38c")].name, "ERC20InsufficientBalance");
        assert_eq!(abi.errors[&hex!("118cdaa7")].name, "OwnableUnauthorizedAccount");
        let transfer: B256 =
            hex!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef").into();
        assert_eq!(abi.events[&(transfer, 2_usize)].inputs[2].name, "value");
        assert_eq!(abi.events[&(transfer, 3_usize)].inputs[2].name, "tokenId");
    }
}
