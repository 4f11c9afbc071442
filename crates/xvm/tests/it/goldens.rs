//! Recorded exchanges of the reference, as far as they are answered by the transaction and a set of UTXOs:
//! decode faults, rules, rendering. The whole node replays them too; here a failure names the rule.

use std::collections::HashMap;

use esker_primitives::hexfmt;
use esker_primitives::ids::{AssetId, Id, TxId};
use esker_primitives::network::LOCAL_ID;
use esker_transactions::xvm::{Tx, UnsignedTx};
use esker_utxo::fx::secp256k1;
use esker_utxo::{Utxo, UtxoId};
use esker_xvm::genesis::{Genesis, primary};
use esker_xvm::verify::syntactic::{self, Params};
use serde_json::Value;

use crate::vectors::{rendered, test_file, text};

/// A request and its reply.
pub(crate) struct Exchange {
    pub(crate) request: Value,
    pub(crate) reply: Value,
}

impl Exchange {
    /// Those of a file whose request and reply are both JSON.
    pub(crate) fn read(name: &str) -> Vec<Self> {
        let file = String::from_utf8(test_file(&format!("golden/{name}"))).unwrap();
        let (mut exchanges, mut pending) = (Vec::new(), None);
        for line in file.lines() {
            let Some((kind, rest)) = line.split_once(' ') else { continue };
            match kind {
                ">>" | ">?" => pending = serde_json::from_str(rest).ok(),
                "<<" => {
                    let reply = serde_json::from_str(rest);
                    if let (Some(request), Ok(reply)) = (pending.take(), reply) {
                        exchanges.push(Self { request, reply });
                    }
                }
                _ => {}
            }
        }
        exchanges
    }

    /// The transaction of an `issueTx` whose text form is in order.
    fn issued(&self) -> Option<Vec<u8>> {
        if self.request["method"] != "avm.issueTx" {
            return None;
        }
        let params = &self.request["params"];
        let encoded = params["tx"].as_str()?;
        let plain = params["encoding"].as_str().is_some_and(|e| e.eq_ignore_ascii_case("hexnc"));
        if plain { hexfmt::decode_plain(encoded) } else { hexfmt::decode_checked(encoded) }.ok()
    }

    fn error(&self) -> Option<&str> {
        self.reply["error"]["message"].as_str()
    }
}

/// A UTXO set of the local network, with as much of the semantic rules as base transactions need.
struct Ledger {
    params: Params,
    utxos: HashMap<UtxoId, Utxo>,
    /// Assets by ID, and whether secp256k1 may be used with them.
    assets: HashMap<AssetId, bool>,
    txs: HashMap<TxId, Tx>,
    now_s: u64,
}

impl Ledger {
    fn new() -> Self {
        let encoded = test_file("vectors/genesis/local-x.bin");
        let genesis = Genesis::parse(&encoded).unwrap();
        let params = Params {
            network_id: LOCAL_ID,
            chain_id: primary::x_chain_id(LOCAL_ID, &encoded),
            fee_asset_id: genesis.fee_asset_id().unwrap(),
            tx_fee: 1_000_000,
            create_asset_tx_fee: 1_000_000,
            fx_count: 3,
        };
        let (utxos, assets, txs) = Default::default();
        // Later than what the recordings lock, earlier than what they lock for good.
        let mut ledger = Self { params, utxos, assets, txs, now_s: 1_700_000_000 };
        ledger.accept(genesis.assets[0].to_tx());
        ledger
    }

    /// Error text, or the ID; `None` if a rule would be needed that only the whole node has.
    fn issue(&mut self, bytes: &[u8]) -> Option<Result<TxId, String>> {
        let tx = match Tx::parse(bytes) {
            Ok(tx) => tx,
            Err(error) => return Some(Err(error.to_string())),
        };
        if let Err(error) = syntactic::verify(&tx, &self.params) {
            return Some(Err(error.to_string()));
        }
        if !matches!(tx.unsigned(), UnsignedTx::Base(_) | UnsignedTx::CreateAsset(_)) {
            return None;
        }
        if let Err(error) = self.semantic(&tx) {
            return Some(Err(error));
        }
        let id = tx.id();
        self.accept(tx);
        Some(Ok(id))
    }

    fn semantic(&self, tx: &Tx) -> Result<(), String> {
        for (slot, input) in tx.unsigned().base().inputs.iter().enumerate() {
            let utxo = self.utxos.get(&input.utxo_id).ok_or("not found")?;
            if utxo.asset_id != input.asset_id {
                return Err("asset IDs in the input don't match the utxo".to_owned());
            }
            let witness = tx.witness(slot).unwrap();
            if witness.credential.fx() != esker_utxo::FxKind::Secp256k1 {
                return Err("incompatible feature extension".to_owned());
            }
            secp256k1::verify_transfer(&utxo.output, &input.input, witness, self.now_s)
                .map_err(|error| error.to_string())?;
        }
        for out in &tx.unsigned().base().outputs {
            match self.assets.get(&out.asset_id) {
                Some(true) => {}
                Some(false) => return Err("incompatible feature extension".to_owned()),
                None if self.txs.contains_key(&out.asset_id) => {
                    return Err("not an asset".to_owned());
                }
                None => return Err("not found".to_owned()),
            }
        }
        Ok(())
    }

    /// Takes a transaction into the set, whether or not its rules were looked at.
    fn accept(&mut self, tx: Tx) {
        for spent in tx.unsigned().local_utxo_ids() {
            self.utxos.remove(&spent);
        }
        self.utxos.extend(tx.produced_utxos().map(|utxo| (utxo.utxo_id, utxo)));
        if let UnsignedTx::CreateAsset(asset) = tx.unsigned() {
            self.assets.insert(tx.id(), asset.supports_fx(0));
        }
        self.txs.insert(tx.id(), tx);
    }
}

/// Replays a file's `issueTx`; answers how many were compared.
fn replay_issues(name: &str) -> usize {
    let mut ledger = Ledger::new();
    let mut compared = 0;
    for exchange in Exchange::read(name) {
        let Some(bytes) = exchange.issued() else { continue };
        match (ledger.issue(&bytes), exchange.error()) {
            (Some(Err(got)), Some(expected)) => assert_eq!(got, expected, "{name}: {compared}"),
            (Some(Ok(id)), None) => {
                let expected = &exchange.reply["result"]["txID"];
                assert!(text(expected).starts_with('$') || id.to_string() == text(expected));
            }
            (None, Some(_)) => continue,
            (None, None) => ledger.accept(Tx::parse(&bytes).unwrap()),
            (got, expected) => panic!("{name}: {compared}: {got:?}, not {expected:?}"),
        }
        compared += 1;
    }
    compared
}

#[test]
fn what_the_codec_refuses() {
    assert_eq!(replay_issues("x/issueTx-codec.io"), 57);
}

#[test]
fn what_the_rules_refuse() {
    // All but the imports and exports.
    assert_eq!(replay_issues("x/issueTx-semantic.io"), 33);
    for name in ["tx-create-fixed-cap", "tx-create-variable-cap", "tx-property", "getTx-base"] {
        assert!(replay_issues(&format!("x/{name}.io")) > 0, "{name}");
    }
}

/// Each transaction that a file issues and then reads as JSON.
#[test]
fn rendering() {
    let names = [
        "getTx-base",
        "tx-create-fixed-cap",
        "tx-create-variable-cap",
        "tx-property",
        "tx-export-to-C",
        "tx-export-to-P",
    ];
    let mut compared = 0;
    for name in names {
        let mut ledger = Ledger::new();
        for exchange in Exchange::read(&format!("x/{name}.io")) {
            if let (Some(bytes), None) = (exchange.issued(), exchange.error()) {
                ledger.accept(Tx::parse(&bytes).unwrap());
            }
            let shown = &exchange.reply["result"]["tx"];
            if !shown.is_object() {
                continue;
            }
            let id: Id = text(&shown["id"]).parse().unwrap();
            let tx = &ledger.txs[&id];
            let got: Value = serde_json::from_str(&rendered(tx, "local")).unwrap();
            assert_eq!(&got, shown, "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 15, "{compared}");
}
