//! The chains of a data folder with the observed P-Chain, and what the recordings say about their state.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use alloy_primitives::{Address, B256, U256};
use bytes::Bytes;
use esker_chain::{ChainMachine as _, ChainVm as _, MachineConfig, Undo, UndoLimits};
use esker_e2e::avalanchego::Recording;
use esker_evm::chain::ChainView;
use esker_keystore::Keystore;
use esker_node::Environment;
use esker_node::chains::Chain;
use esker_node::wiring::{OpenChains, open_offline};
use esker_primitives::clock::ManualClock;
use esker_primitives::{ChainId, Id};
use esker_settings::config::{Config, Flags, Mode};
use esker_settings::networks::Network;
use esker_storage::Store;
use esker_xvm::state::tables::visit_utxos;
use serde_json::Value;

/// After the last recorded block, Unix ms.
const NOW_MS: u64 = 1_800_000_000_000;

/// Bundles that can be rewound.
pub(crate) const UNDO_DEPTH: u64 = 200;

/// The configuration of a folder of the local network with the observed P-Chain.
pub(crate) fn config(folder: &Path) -> Config {
    config_of("local", folder)
}

/// As [`config`], of a network by its name or its file.
pub(crate) fn config_of(network: &str, folder: &Path) -> Config {
    let flags = [("network", network), ("data-dir", folder.to_str().unwrap())];
    let flags: Flags = flags.map(|(name, text)| (name, text.to_owned())).into();
    let mut config = Config::load(Mode::Node, flags, []).unwrap();
    config.observes_p = true;
    config
}

/// Open chains.
pub(crate) struct Ledger {
    pub(crate) network: Network,
    pub(crate) store: Store,
    pub(crate) open: OpenChains,
}

impl Ledger {
    pub(crate) fn open(config: &Config) -> Self {
        let clock = std::sync::Arc::new(ManualClock::new(NOW_MS));
        let environment = Environment { clock, ..Environment::system() };
        let undo = Undo::Keep(UndoLimits::bundles(UNDO_DEPTH));
        let machine = MachineConfig { undo, decides_alone: true, ..MachineConfig::default() };
        let (store, open) =
            open_offline(config, &Keystore::disabled(), environment, machine).unwrap();
        Self { network: config.network.clone(), store, open }
    }

    /// Closes the store, and unlocks its folder.
    pub(crate) fn close(self) {
        let Self { store, open, .. } = self;
        drop(open);
        store.writer.close_blocking().unwrap();
    }

    /// ID of `X`, `C` or `P`.
    pub(crate) fn chain_id(&self, alias: &str) -> ChainId {
        use esker_chain::Aliases as _;
        self.open.aliases.lookup(alias).unwrap()
    }

    pub(crate) fn height(&self, alias: &str) -> u64 {
        let id = self.chain_id(alias);
        let chains = self.open.machine.chains();
        chains.iter().find(|chain| chain.context().chain_id == id).unwrap().stats().height
    }

    /// Makes a block final in a bundle of its own.
    pub(crate) async fn accept(&self, chain: ChainId, block: Bytes) -> Result<(), String> {
        let machine = &self.open.machine;
        let (_, last) = machine.last_final();
        match machine.compose(&last, vec![(chain, block)]).await.unwrap() {
            Ok(bundle) => machine.finalize(&bundle, None).await.map_err(|e| e.to_string()),
            Err(refused) => Err(refused.to_string()),
        }
    }

    /// Compares all that the recording knows of the end.
    pub(crate) fn assert_is_end_of(&self, recording: &Recording) {
        let state = &recording.state;
        for chain in ["X", "C", "P"] {
            let height: u64 = state[chain]["height"].as_str().unwrap().parse().unwrap();
            assert_eq!(self.height(chain), height, "{chain}");
        }
        for (_, chain) in &self.open.chains {
            match chain {
                Chain::Xvm(xvm) => {
                    let view = xvm.view().unwrap();
                    let last = view.last_accepted().unwrap().to_string();
                    assert_eq!(last, state["X"]["lastAcceptedInner"]);
                    let scope = xvm.context().scope;
                    let snapshot = self.store.snapshot().unwrap();
                    let mut utxos = BTreeSet::new();
                    visit_utxos(snapshot.as_ref(), scope, |utxo| {
                        utxos.insert(utxo.to_vec());
                        ControlFlow::Continue(())
                    })
                    .unwrap();
                    assert_eq!(utxos, elements(&state["xUTXOs"]));
                }
                Chain::Evm(chain) => {
                    let evm = chain.evm();
                    let snapshot = self.store.snapshot().unwrap();
                    let rules = evm.params().rules.as_ref();
                    let view = ChainView::new(snapshot.as_ref(), evm.context().scope, rules);
                    self.assert_c_is(&view, state);
                }
            }
        }
        self.assert_shared_memory_is(&state["sharedMemory"]);
    }

    fn assert_c_is(&self, view: &ChainView<'_>, state: &Value) {
        let height = self.height("C");
        let header = view.header(height).unwrap().unwrap();
        assert_eq!(header.state_root, b256(&state["C"]["stateRoot"]));
        assert_eq!(view.hash_of(height).unwrap(), Some(b256(&state["C"]["lastAcceptedInner"])));
        let latest = view.latest_state();
        assert_eq!(latest.root().unwrap(), header.state_root);
        let accounts = state["accounts"].as_object().unwrap();
        assert!(accounts.len() > 10);
        for (address, expected) in accounts {
            let address: Address = address.parse().unwrap();
            let account = latest.account(&address).unwrap().unwrap_or_default();
            let text = |name: &str| expected[name].as_str().unwrap();
            assert_eq!(account.balance, text("balance").parse::<U256>().unwrap(), "{address}");
            assert_eq!(U256::from(account.nonce), text("nonce").parse::<U256>().unwrap());
            assert_eq!(account.code_hash, b256(&expected["code"]), "{address}");
        }
    }

    fn assert_shared_memory_is(&self, expected: &Value) {
        let reader = self.store.snapshot().unwrap();
        let mut all = BTreeSet::new();
        esker_shared_memory::visit(reader.as_ref(), |value| {
            all.insert(value.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
        let mut expected_all = BTreeSet::new();
        let directions = expected.as_object().unwrap();
        assert_eq!(directions.len(), 6);
        for (direction, values) in directions {
            let (to, from) = direction.split_once(" from ").unwrap();
            let (to, from) = (self.chain_id(to), self.chain_id(from));
            for value in elements(values) {
                // Version, transaction, output index.
                let tx = Id::from_slice(&value[2..34]).unwrap();
                let index = u32::from_be_bytes(value[34..38].try_into().unwrap());
                let key = tx.prefixed(u64::from(index)).as_bytes().to_vec();
                let found = esker_shared_memory::get(reader.as_ref(), &to, &from, &[key]);
                assert_eq!(found.unwrap(), std::slice::from_ref(&value), "{direction}");
                expected_all.insert(value);
            }
        }
        assert_eq!(all, expected_all);
    }
}

fn elements(values: &Value) -> BTreeSet<Vec<u8>> {
    values.as_array().unwrap().iter().map(hex).collect()
}

fn hex(value: &Value) -> Vec<u8> {
    esker_primitives::hexfmt::decode_plain(value.as_str().unwrap()).unwrap()
}

fn b256(value: &Value) -> B256 {
    value.as_str().unwrap().parse().unwrap()
}
