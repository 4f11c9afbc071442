//! The contracts of `tests/fixtures/Vault.sol`, as forge and Hardhat compiled them, and that of `Safe.vy`.

use std::path::{Path, PathBuf};

use alloy_primitives::{hex, keccak256};
use esker_artifacts::{Folders, Found, Registry};
use serde_json::Value;

pub(crate) fn fixtures(tool: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(tool)
}

/// A registry with what a folder holds, which has no problem.
pub(crate) fn registry_of(folder: &Path) -> Registry {
    let mut folders = Folders::new(vec![folder.to_owned()]);
    let scan = folders.scan();
    assert_eq!(scan.problems, [""; 0]);
    assert!(scan.is_changed);
    let registry = Registry::default();
    registry.replace(folders.contracts());
    registry
}

/// The runtime code of a vault on a chain: linked, with these bytes in its immutables.
pub(crate) fn vault_code(immutable: u8) -> Vec<u8> {
    let file = fixtures("foundry").join("Vault.sol/Vault.json");
    let artifact: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let code = &artifact["deployedBytecode"];
    let digits = code["object"].as_str().unwrap();
    let start = digits.find("__$").unwrap();
    let linked = digits.replace(&digits[start..start + 40], &"cd".repeat(20));
    let mut bytes = hex::decode(linked).unwrap();
    for place in code["immutableReferences"].as_object().unwrap().values().flat_map(|places| {
        places.as_array().unwrap().iter().map(|place| place["start"].as_u64().unwrap())
    }) {
        let start = usize::try_from(place).unwrap();
        bytes[start..start + 32].fill(immutable);
    }
    bytes
}

/// The init code of a contract of forge's or Vyper's artifacts, with these words after it.
pub(crate) fn creation(file: &str, arguments: &[[u8; 32]]) -> Vec<u8> {
    let artifact: Value = serde_json::from_slice(&std::fs::read(fixtures(file)).unwrap()).unwrap();
    let digits = artifact["bytecode"]["object"].as_str().unwrap();
    let linked = match digits.find("__$") {
        Some(start) => digits.replace(&digits[start..start + 40], &"cd".repeat(20)),
        None => digits.to_owned(),
    };
    [hex::decode(linked).unwrap(), arguments.concat()].concat()
}

/// The runtime code of a safe of Vyper on a chain: with such bytes as its immutables.
pub(crate) fn safe_code(immutable: u8) -> Vec<u8> {
    let file = fixtures("vyper").join("Safe.json");
    let artifact: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let code = hex::decode(artifact["deployedBytecode"]["object"].as_str().unwrap()).unwrap();
    [code, vec![immutable; 64]].concat()
}

pub(crate) fn find(registry: &Registry, code: &[u8]) -> Option<Found> {
    registry.contract(keccak256(code), || Ok::<_, ()>(code)).unwrap()
}
