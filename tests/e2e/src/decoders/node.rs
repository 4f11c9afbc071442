//! Files that an operator writes, and users that he imports.

use std::path::Path;

use esker_keystore::blob::ExportedUser;
use esker_node::config::file;
use esker_node::networks::{self, Vm};
use esker_xvm::genesis::Genesis;

use super::primitives::told;

/// A configuration file.
pub(super) fn config(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    told(file::parse(text, Path::new("esker.toml"))).is_some()
}

/// A network of one's own, and the assets of a chain in JSON.
pub(super) fn network_file(bytes: &[u8]) -> bool {
    if let Some(genesis) = told(networks::file::genesis_of_data(7, bytes)) {
        told(Genesis::parse(&genesis));
    }
    let Some(network) = told(networks::file::parse(bytes)) else { return false };
    for chain in &network.chains {
        assert_eq!(network.chain(&chain.id.to_string()).map(|found| found.id), Some(chain.id));
        if chain.vm == Vm::Xvm {
            told(Genesis::parse(&chain.genesis)).expect("a chain's genesis was looked at");
        }
    }
    true
}

/// An exported user of the keystore.
pub(super) fn keystore_blob(bytes: &[u8]) -> bool {
    let Some(user) = told(ExportedUser::parse(bytes)) else { return false };
    assert_eq!(user.to_bytes(), bytes);
    true
}
