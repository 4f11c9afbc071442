//! Files that an operator writes.

use std::path::Path;

use esker_node::config::file;
use esker_node::networks::{self, Vm};
use esker_xvm::genesis::Genesis;

use super::primitives::told;

/// A configuration file.
pub(super) fn config(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    told(file::parse(text, Path::new("esker.toml")));
}

/// A network of one's own, and the assets of a chain in JSON.
pub(super) fn network_file(bytes: &[u8]) {
    if let Some(genesis) = told(networks::file::genesis_of_data(7, bytes)) {
        told(Genesis::parse(&genesis));
    }
    let Some(network) = told(networks::file::parse(bytes)) else { return };
    for chain in &network.chains {
        assert_eq!(network.chain(&chain.id.to_string()).map(|found| found.id), Some(chain.id));
        if chain.vm == Vm::Xvm {
            told(Genesis::parse(&chain.genesis)).expect("a chain's genesis was looked at");
        }
    }
}
