//! Files that an operator writes, and users that he imports.

use std::path::Path;

use esker_commands::replay::lines::Lines;
use esker_engine_bft::ChangeHistory;
use esker_key_directory::KeyFile;
use esker_keystore::blob::ExportedUser;
use esker_node::journal;
use esker_primitives::Id;
use esker_settings::config::file;
use esker_settings::fixture::{FixtureError, FixtureSource};
use esker_settings::networks::{self, DevOptions, Vm};
use esker_validators::{SetChange, SignedChange};
use esker_xvm::genesis::Genesis;

use super::primitives::value_of;

/// A configuration file.
pub(super) fn config(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    value_of(file::parse(text, Path::new("esker.toml"))).is_some()
}

/// Most bytes of a line. It is small, so that inputs reach the limit, too.
const MAX_LINE: usize = 4096;

/// A fixture, and the transactions that follow from it.
pub(super) fn fixture_file(bytes: &[u8]) -> bool {
    let none = |name: &str| Err(FixtureError::new("artifact", name));
    let Ok(source) = FixtureSource::parse(bytes, none) else { return false };
    let Ok(mut network) = networks::dev_network(&source.options(DevOptions::default())) else {
        return false;
    };
    value_of(source.apply(&mut network)).is_some()
}

/// Accepted blocks, one in each line. A decoded line is written as it was read.
pub(super) fn block_line(bytes: &[u8]) -> bool {
    let mut lines = Lines::with_max(bytes, MAX_LINE);
    let mut written = Vec::new();
    let mut read = Vec::new();
    loop {
        match lines.next_block() {
            Ok(Some((_, block))) => {
                block.write(&mut written).expect("memory takes all");
                read.push(block);
            }
            Ok(None) => break,
            Err(_) => return false,
        }
    }
    let mut again = Lines::new(written.as_slice());
    for block in &read {
        let found = value_of(again.next_block()).flatten().map(|(_, block)| block);
        assert_eq!(found.as_ref(), Some(block));
    }
    !read.is_empty()
}

/// The transactions that waited when the node stopped. Whether the bytes are valid follows from them alone. They are
/// also tried with a corrected checksum, so that the bytes before it are checked.
pub(super) fn pool_journal(bytes: &[u8]) -> bool {
    let content = &bytes[..bytes.len().saturating_sub(Id::LEN)];
    let summed = [content, Id::sha256(content).as_bytes()].concat();
    for file in [summed, bytes.to_vec()] {
        if let Some(entries) = value_of(journal::decode(file.clone())) {
            assert_eq!(journal::encode(&entries), (file, 0));
        }
    }
    journal::decode(bytes.to_vec()).is_ok()
}

/// A custom network, and the assets of a chain in JSON.
pub(super) fn network_file(bytes: &[u8]) -> bool {
    if let Some(genesis) = value_of(networks::file::xvm_genesis_bytes(7, bytes)) {
        value_of(Genesis::parse(&genesis));
    }
    let Some(network) = value_of(networks::file::parse(bytes)) else { return false };
    for chain in &network.chains {
        assert_eq!(network.chain(&chain.id.to_string()).map(|found| found.id), Some(chain.id));
        if chain.parameters.vm() == Vm::Xvm {
            value_of(Genesis::parse(&chain.genesis)).expect("a chain's genesis was looked at");
        }
    }
    true
}

/// A signed change of the validators. Nothing is signed by the validators before it.
pub(super) fn validator_change(bytes: &[u8]) -> bool {
    let Some(signed) = value_of(SignedChange::from_bytes(bytes)) else { return false };
    assert_eq!(signed.to_bytes(), bytes);
    let change = signed.change;
    let members = change.members().to_vec();
    let mut history = value_of(ChangeHistory::new(7, Id::ZERO, members)).expect("a set is one");
    assert!(value_of(history.append(bytes)).is_none(), "it was signed by nobody");
    assert_eq!(value_of(SetChange::from_bytes(&change.to_bytes())), Some(change));
    true
}

/// An exported user of the keystore.
pub(super) fn keystore_blob(bytes: &[u8]) -> bool {
    let Some(user) = value_of(ExportedUser::parse(bytes)) else { return false };
    assert_eq!(user.to_bytes(), bytes);
    true
}

/// An encrypted key of an account. No key is derived, whatever the file demands.
pub(super) fn key_file(bytes: &[u8]) -> bool {
    let Some(file) = value_of(KeyFile::parse(bytes)) else { return false };
    assert!(!file.address().is_zero());
    let json = file.to_json();
    assert_eq!(value_of(KeyFile::parse(json.as_bytes())), Some(file));
    true
}
