//! The contracts of `tests/fixtures/Vault.sol`, as forge and Hardhat compiled them.

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

pub(crate) fn find(registry: &Registry, code: &[u8]) -> Option<Found> {
    registry.contract(keccak256(code), || Ok::<_, ()>(code)).unwrap()
}
