//! Names of precompiled contracts, by EIP-7910 and of this chain.

use alloy_primitives::Address;

use super::super::check::WARP;
use super::super::native_asset::{NATIVE_ASSET_BALANCE, NATIVE_ASSET_CALL};
use crate::rules::{ExecutionRules, NativeAsset, Revision};

/// Names of Ethereum's contracts since Istanbul, at the addresses 1 to 9.
const ISTANBUL: [&str; 9] = [
    "ECREC",
    "SHA256",
    "RIPEMD160",
    "ID",
    "MODEXP",
    "BN254_ADD",
    "BN254_MUL",
    "BN254_PAIRING",
    "BLAKE2F",
];

/// The usable precompiled contracts under these rules. `None` is the early history.
pub fn named_precompiles(rules: Option<&ExecutionRules>) -> Vec<(&'static str, Address)> {
    let address = |(name, at): (&'static str, u8)| (name, Address::with_last_byte(at));
    let mut named: Vec<_> = ISTANBUL.into_iter().zip(1..).map(address).collect();
    let Some(rules) = rules else { return named };
    if rules.revision >= Revision::Cancun {
        named.push(address(("KZG_POINT_EVALUATION", 0x0a)));
    }
    if rules.native_asset == NativeAsset::On {
        named.push(("NATIVE_ASSET_BALANCE", NATIVE_ASSET_BALANCE));
        named.push(("NATIVE_ASSET_CALL", NATIVE_ASSET_CALL));
    }
    if rules.warp {
        named.push(("WARP", WARP));
    }
    named
}
