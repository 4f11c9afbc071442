//! Every decoder of the node as a plain function of bytes, with the properties that must hold for any bytes.
//!
//! The fuzz targets (`fuzz/`, one for each entry of [`TARGETS`]) and the stable test (`tests/it/corpus.rs`) drive the
//! same functions; their inputs lie in `tests/corpus/<name>`. A function returns for any bytes; it panics where
//! a decoder does, or where what it decoded does not encode to the same bytes again.

mod atomic;
mod avalanchego;
mod c_chain;
mod chain;
mod evm;
mod json;
mod node;
mod primitives;
mod validators;

/// One decoder.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, also that of the fuzz target and of the folder of its inputs.
    pub name: &'static str,
    /// Decodes and checks; returns whether the bytes were valid.
    pub run: fn(&[u8]) -> bool,
}

/// All decoders, by name.
pub const TARGETS: &[Target] = &[
    Target { name: "address", run: primitives::address },
    Target { name: "atomic_tx", run: atomic::tx },
    Target { name: "avalanchego_container", run: avalanchego::container },
    Target { name: "block_line", run: node::block_line },
    Target { name: "bundle", run: chain::bundle },
    Target { name: "bundle_stream", run: chain::bundle_stream },
    Target { name: "cb58", run: primitives::cb58 },
    Target { name: "certificate", run: validators::certificate },
    Target { name: "codec", run: primitives::codec },
    Target { name: "config", run: node::config },
    Target { name: "evm_args", run: evm::arguments },
    Target { name: "evm_block", run: c_chain::block },
    Target { name: "evm_envelope", run: evm::envelope },
    Target { name: "evm_genesis", run: c_chain::genesis },
    Target { name: "evm_header", run: c_chain::header },
    Target { name: "evm_transaction", run: c_chain::transaction },
    Target { name: "evm_typed_data", run: c_chain::typed_data },
    Target { name: "ext_data", run: atomic::ext_data },
    Target { name: "fixture_file", run: node::fixture_file },
    Target { name: "hex", run: primitives::hex },
    Target { name: "json", run: json::json },
    Target { name: "key_file", run: node::key_file },
    Target { name: "keystore_blob", run: node::keystore_blob },
    Target { name: "network_file", run: node::network_file },
    Target { name: "object_dialect", run: json::object_dialect },
    Target { name: "p_block", run: avalanchego::p_block },
    Target { name: "p_tx", run: avalanchego::p_tx },
    Target { name: "pool_journal", run: node::pool_journal },
    Target { name: "signature", run: primitives::signature },
    Target { name: "snapshot_stream", run: chain::snapshot_stream },
    Target { name: "utxo", run: chain::utxo },
    Target { name: "validator_change", run: node::validator_change },
    Target { name: "x_block", run: chain::x_block },
    Target { name: "x_genesis", run: chain::x_genesis },
    Target { name: "x_tx", run: chain::x_tx },
];

/// Runs the decoder of that name; returns whether the bytes were valid.
///
/// # Panics
/// If there is none, or if it found a fault.
pub fn run(name: &str, bytes: &[u8]) -> bool {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("every fuzz target is one of the list").run)(bytes)
}
