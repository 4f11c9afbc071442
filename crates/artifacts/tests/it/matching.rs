//! Contracts are found by their code.

use std::fs;

use esker_artifacts::{Registry, compiled};
use serde_json::{Value, json};

use crate::support::{find, fixtures, registry_of, safe_code, vault_code};

#[test]
fn a_vault_is_found_whatever_its_immutables_and_its_library_are() {
    // Hardhat 2 does not say where immutables are, and its file has another path, so another hash of the metadata.
    for tool in ["foundry", "hardhat"] {
        let registry = registry_of(&fixtures(tool));
        for immutable in [0, 1, 0xff] {
            let found = find(&registry, &vault_code(immutable)).unwrap();
            assert_eq!((&*found.label(), found.others), ("Vault", 0), "{tool}");
        }
    }
}

#[test]
fn a_safe_is_found_whatever_its_immutables_are() {
    let registry = registry_of(&fixtures("vyper"));
    for immutable in [0, 1, 0xff] {
        let code = safe_code(immutable);
        assert_eq!(&*find(&registry, &code).unwrap().label(), "Safe");
        assert!(find(&registry, &code[..code.len() - 1]).is_none());
        assert!(find(&registry, &[&code[..], &[immutable]].concat()).is_none());
    }
    let mut other = safe_code(0);
    other[5] ^= 1;
    assert!(find(&registry, &other).is_none());
    assert!(find(&registry, &[0; 64]).is_none());
}

#[test]
fn another_constant_is_another_contract() {
    let registry = registry_of(&fixtures("foundry"));
    let constant = [[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]; 4].concat();
    let mut code = vault_code(7);
    let at = code.windows(32).position(|word| word == constant).unwrap();
    assert!(find(&registry, &code).is_some());
    code[at] ^= 1;
    assert!(find(&registry, &code).is_none());
    code[at] ^= 1;
    code[0] ^= 1;
    assert!(find(&registry, &code).is_none());
    assert!(find(&registry, &[]).is_none());
}

#[test]
fn the_first_file_names_contracts_with_the_same_code() {
    let folder = tempfile::tempdir().unwrap();
    let vault = fs::read_to_string(fixtures("hardhat").join("Vault.sol/Vault.json")).unwrap();
    for name in ["b", "c", "a"] {
        let renamed = vault
            .replace("\"contractName\": \"Vault\"", &format!("\"contractName\": \"Of_{name}\""));
        assert_ne!(renamed, vault);
        fs::write(folder.path().join(format!("{name}.json")), renamed).unwrap();
    }
    let registry = registry_of(folder.path());
    let found = find(&registry, &vault_code(3)).unwrap();
    assert_eq!((&*found.label(), found.others), ("Of_a (+2 with the same code)", 2));
}

/// The output of a compiler with the vault, under a name.
fn output(name: &str) -> String {
    let file = fixtures("foundry").join("Vault.sol/Vault.json");
    let artifact: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let deployed = &artifact["deployedBytecode"];
    let compiled = json!({"abi": artifact["abi"], "evm": {"deployedBytecode": deployed}});
    json!({"contracts": {"src/Vault.sol": {name: compiled}}, "sources": {}}).to_string()
}

#[test]
fn a_compilers_output_adds_contracts() {
    let registry = Registry::default();
    for name in ["Vault", "Vault", "Safe"] {
        registry.add(compiled(&output(name)).unwrap());
    }
    assert_eq!(&*find(&registry, &vault_code(3)).unwrap().label(), "Safe (+1 with the same code)");
    // Those of folders are replaced without them.
    registry.replace(Vec::new());
    assert!(find(&registry, &vault_code(3)).is_some());
    for text in ["", "[]x", "{\"contracts\": 5}", "{\"contracts\": {\"a\": {\"b\": 5}}}"] {
        assert!(compiled(text).is_err(), "{text}");
    }
    assert_eq!(compiled("{}").unwrap().len(), 0);
}
