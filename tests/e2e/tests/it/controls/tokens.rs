//! Balances and allowances of ERC-20 contracts.

use serde_json::{Value, json};

use super::{FIRST, OTHER, error, height, result};
use crate::support::local;

const TOKEN: &str = "0x00000000000000000000000000000000000000c1";
/// Whatever is called returns the slot that the Keccak hash of its arguments names, as mappings do: CALLDATACOPY of all but
/// the selector to 0, KECCAK256, SLOAD, MSTORE, RETURN.
const CODE: &str = "0x60043603600460003760043603600020546000526020 6000f3";
/// Returns 5.
const CONSTANT: &str = "0x600560005260206000f3";

fn word(address: &str) -> String {
    format!("{:0>64}", &address[2..])
}

#[test]
fn tokens_are_dealt() {
    let node = local().dev().start().unwrap();
    let code = CODE.replace(' ', "");
    result(&node, "anvil_setCode", json!([TOKEN, code]));
    let balance = || {
        let data = format!("0x70a08231{}", word(OTHER));
        result(&node, "eth_call", json!([{"to": TOKEN, "data": data}, "latest"]))
    };
    let allowance = || {
        let data = format!("0xdd62ed3e{}{}", word(FIRST), word(OTHER));
        result(&node, "eth_call", json!([{"to": TOKEN, "data": data}, "latest"]))
    };
    let before = height(&node);
    let units = json!("0xde0b6b3a7640000");
    assert_eq!(result(&node, "anvil_dealERC20", json!([OTHER, TOKEN, units])), Value::Null);
    assert_eq!(balance(), format!("0x{:0>64}", "de0b6b3a7640000"));
    let max = format!("0x{}", "f".repeat(64));
    let set = json!([FIRST, OTHER, TOKEN, max]);
    assert_eq!(result(&node, "anvil_setERC20Allowance", set), Value::Null);
    assert_eq!(allowance(), max);
    assert_eq!(height(&node), before + 2);
    // An amount that is set already needs no block.
    result(&node, "anvil_dealERC20", json!([OTHER, TOKEN, units]));
    assert_eq!(height(&node), before + 2);
    for (method, units) in
        [("anvil_setERC20Balance", 7), ("hardhat_dealERC20", 8), ("anvil_dealERC20", 0)]
    {
        assert_eq!(result(&node, method, json!([OTHER, TOKEN, units])), Value::Null);
        assert_eq!(balance(), format!("0x{units:064x}"), "{method}");
    }

    result(&node, "anvil_setCode", json!([TOKEN, CONSTANT]));
    let before = height(&node);
    let text = format!("contract {TOKEN} has no storage slot that holds this number alone");
    assert!(
        error(&node, "anvil_dealERC20", json!([OTHER, TOKEN, 6])).to_lowercase().contains(&text)
    );
    let missing = error(&node, "anvil_dealERC20", json!([OTHER, TOKEN]));
    assert!(missing.contains("missing value for required argument"), "{missing}");
    let nobody = error(&node, "anvil_setERC20Allowance", json!([FIRST, OTHER, FIRST, 6]));
    assert!(nobody.contains("has no storage slot"), "{nobody}");
    assert_eq!(height(&node), before);
}
