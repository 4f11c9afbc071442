//! Names of precompiled contracts, by EIP-7910 and of this chain.

use alloy_primitives::{Address, address};

use super::super::check::WARP;
use super::super::native_asset::{NATIVE_ASSET_BALANCE, NATIVE_ASSET_CALL};
use crate::rules::{ExecutionRules, NativeAsset, Revision};

/// Names of Ethereum's contracts, with the last byte of their addresses (the others are zero) and the revision since
/// which they exist.
const ETHEREUM: [(&str, u8, Revision); 17] = [
    ("ECREC", 0x01, Revision::Frontier),
    ("SHA256", 0x02, Revision::Frontier),
    ("RIPEMD160", 0x03, Revision::Frontier),
    ("ID", 0x04, Revision::Frontier),
    ("MODEXP", 0x05, Revision::Byzantium),
    ("BN254_ADD", 0x06, Revision::Byzantium),
    ("BN254_MUL", 0x07, Revision::Byzantium),
    ("BN254_PAIRING", 0x08, Revision::Byzantium),
    ("BLAKE2F", 0x09, Revision::Istanbul),
    ("KZG_POINT_EVALUATION", 0x0a, Revision::Cancun),
    ("BLS12_G1ADD", 0x0b, Revision::Prague),
    ("BLS12_G1MSM", 0x0c, Revision::Prague),
    ("BLS12_G2ADD", 0x0d, Revision::Prague),
    ("BLS12_G2MSM", 0x0e, Revision::Prague),
    ("BLS12_PAIRING_CHECK", 0x0f, Revision::Prague),
    ("BLS12_MAP_FP_TO_G1", 0x10, Revision::Prague),
    ("BLS12_MAP_FP2_TO_G2", 0x11, Revision::Prague),
];

/// The contract of EIP-7951.
const P256_VERIFY: Address = address!("0x0000000000000000000000000000000000000100");

/// The usable precompiled contracts under these rules. `None` is the early history.
pub fn named_precompiles(rules: Option<&ExecutionRules>) -> Vec<(&'static str, Address)> {
    let revision = rules.map_or(Revision::Istanbul, |rules| rules.revision);
    let known = ETHEREUM.iter().filter(|(_, _, since)| revision >= *since);
    let mut named: Vec<_> =
        known.map(|(name, at, _)| (*name, Address::with_last_byte(*at))).collect();
    let Some(rules) = rules else { return named };
    if revision >= Revision::Osaka {
        named.push(("P256VERIFY", P256_VERIFY));
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
