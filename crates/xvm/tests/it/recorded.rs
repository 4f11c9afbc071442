//! A chain of the reference: the X blocks of a local network with traffic of every kind, what was answered about
//! them, and altered blocks, each of which must be refused and change nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_chain::{
    BlockError, BuildContext, ChainContext, ChainMachine, ChainVm, FixedAliases, Machine,
    MachineConfig,
};
use esker_primitives::clock::ManualClock;
use esker_primitives::codec::{Decode, Encode, Reader};
use esker_primitives::network::LOCAL_ID;
use esker_primitives::{ChainId, Id};
use esker_rpc::{Caller, Dialect, Service, object};
use esker_shared_memory::Requests;
use esker_storage::{KvStore, MemoryStore, PendingWrites, Scope, Store};
use esker_utxo::{CredentialSlot, Output, TransferableOutput, Utxo, UtxoId};
use esker_xvm::genesis::{Genesis, primary};
use esker_xvm::{Xvm, XvmConfig, exported_element};
use serde_json::Value;
use tokio::sync::Notify;

use crate::vectors::{test_file, text};

/// After the last recorded block, before the one that is too far ahead.
const NOW_MS: u64 = 1_795_264_980_000;

/// The X-Chain of the local network, and the ID of its C-Chain.
struct Local {
    vm: Arc<Xvm>,
    machine: Arc<Machine>,
    store: Store,
    c_chain: ChainId,
}

impl Local {
    fn new() -> Self {
        let encoded = test_file("vectors/genesis/local-x.bin");
        let genesis = Genesis::parse(&encoded).unwrap();
        let chain_id = primary::x_chain_id(LOCAL_ID, &encoded);
        let c_chain = "2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC".parse().unwrap();
        let kv: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
        let store = Store::new(kv).unwrap();
        let (clock, work) = (Arc::new(ManualClock::new(NOW_MS)), Arc::new(Notify::new()));
        let context = ChainContext {
            network_id: LOCAL_ID,
            hrp: "local".into(),
            chain_id,
            scope: Scope(1),
            native_asset_id: genesis.fee_asset_id().unwrap(),
            native_aliases: vec!["NAT".into(), "AVAX".into()],
            aliases: Arc::new(FixedAliases(vec![
                ("X", chain_id),
                ("C", c_chain),
                ("P", ChainId::ZERO),
            ])),
            clock: clock.clone(),
            store: store.clone(),
            peers: Arc::new(vec![ChainId::ZERO, chain_id, c_chain]),
            work: work.clone(),
            forwarding: None,
            exchange: None,
            block_waits: None,
            impersonations: None,
        };
        let block = primary::x_genesis_block(LOCAL_ID, chain_id);
        let vm = Xvm::new(context, XvmConfig::default(), genesis, block).unwrap();
        let config = MachineConfig { check_proposals: true, ..MachineConfig::default() };
        let machine = Machine::open(vec![vm.clone()], store.clone(), clock, work, config).unwrap();
        Self { vm, machine, store, c_chain }
    }

    /// Takes in a recorded X block.
    async fn accept(&self, block: &[u8]) {
        let (_, last) = self.machine.last_final();
        let block = (self.vm.context().chain_id, block.to_vec().into());
        self.machine.finalize_blocks(&last, vec![block]).await.unwrap();
    }

    /// Leaves in shared memory what a C block exports to X.
    async fn accept_c(&self, block: &[u8]) {
        let this = self.vm.context().chain_id;
        let utxos = c_exports(block, this);
        if utxos.is_empty() {
            return;
        }
        let puts = utxos.iter().map(exported_element).collect();
        let requests = BTreeMap::from([(this, Requests { puts, removes: Vec::new() })]);
        let reader = self.store.snapshot().unwrap();
        let mut pending = PendingWrites::new(reader.as_ref());
        esker_shared_memory::apply(&mut pending, &self.c_chain, &requests).unwrap();
        let writes = pending.into_writes();
        drop(reader);
        self.store.writer.commit(writes).await.unwrap();
    }

    fn service(&self) -> Service {
        let mut routes = esker_xvm::service::routes(Arc::clone(&self.vm)).into_iter();
        let route = routes.find(|route| route.suffix.is_empty()).unwrap();
        let Dialect::Object(service) = route.dialect else { panic!("another dialect") };
        service
    }

    fn height(&self) -> u64 {
        self.vm.accepted_height()
    }
}

/// The recorded blocks: chain, height, bytes.
fn blocks() -> Vec<(String, u64, Vec<u8>)> {
    let file = String::from_utf8(test_file("vectors/chain/local-1.jsonl")).unwrap();
    let block = |line: &str| {
        let block: Value = serde_json::from_str(line).unwrap();
        let bytes = hex::decode(text(&block["bytes"]).trim_start_matches("0x")).unwrap();
        (text(&block["chain"]).to_owned(), block["height"].as_u64().unwrap(), bytes)
    };
    file.lines().map(block).collect()
}

/// An RLP item and what follows it: its payload, and whether it is a list.
fn rlp_item(bytes: &[u8]) -> (&[u8], bool, &[u8]) {
    let long = |base: u8| {
        let digits = usize::from(bytes[0] - base);
        let len = bytes[1..=digits].iter().fold(0, |len, byte| len << 8 | usize::from(*byte));
        (1 + digits, len)
    };
    let (start, len) = match bytes[0] {
        0..0x80 => (0, 1),
        first @ 0x80..=0xb7 => (1, usize::from(first - 0x80)),
        0xb8..=0xbf => long(0xb7),
        first @ 0xc0..=0xf7 => (1, usize::from(first - 0xc0)),
        0xf8..=0xff => long(0xf7),
    };
    (&bytes[start..start + len], bytes[0] >= 0xc0, &bytes[start + len..])
}

/// UTXOs that a block of the C-Chain exports to `destination`: from its last member, a list of atomic transactions.
fn c_exports(block: &[u8], destination: ChainId) -> Vec<Utxo> {
    let (mut rest, is_list, _) = rlp_item(block);
    assert!(is_list);
    let mut extension: &[u8] = &[];
    while !rest.is_empty() {
        (extension, _, rest) = rlp_item(rest);
    }
    if extension.is_empty() {
        return Vec::new();
    }
    let mut r = Reader::new(extension);
    assert_eq!(r.u16().unwrap(), 0);
    let mut exported = Vec::new();
    for _ in 0..r.u32().unwrap() {
        let start = r.position();
        let (is_export, _network, _chain) =
            (r.u32().unwrap() == 1, r.u32().unwrap(), r.id().unwrap());
        let peer = r.id().unwrap();
        let mut outputs = Vec::new();
        if is_export {
            // Address, amount, asset, nonce.
            for _ in 0..r.u32().unwrap() {
                r.fixed::<68>().unwrap();
            }
            for _ in 0..r.u32().unwrap() {
                outputs.push(TransferableOutput::decode(&mut r).unwrap());
            }
        } else {
            for _ in 0..r.u32().unwrap() {
                esker_utxo::TransferableInput::decode(&mut r).unwrap();
            }
            // Address, amount, asset.
            for _ in 0..r.u32().unwrap() {
                r.fixed::<60>().unwrap();
            }
        }
        for _ in 0..r.u32().unwrap() {
            CredentialSlot::decode(&mut r).unwrap();
        }
        if peer == destination {
            let signed = [&[0, 0], &extension[start..r.position()]].concat();
            let tx_id = Id::sha256(&signed);
            exported.extend((0..).zip(outputs).map(|(output_index, out)| Utxo {
                utxo_id: UtxoId { tx_id, output_index },
                asset_id: out.asset_id,
                output: Output::SecpTransfer(out.output),
            }));
        }
    }
    r.finish().unwrap();
    exported
}

/// Equality, but for arrays whose order is open: their first element is `$unordered`.
fn same(got: &Value, expected: &Value) -> bool {
    match (got, expected) {
        (Value::Object(got), Value::Object(expected)) => {
            got.len() == expected.len()
                && expected
                    .iter()
                    .all(|(name, value)| got.get(name).is_some_and(|got| same(got, value)))
        }
        (Value::Array(got), Value::Array(expected))
            if expected.first().is_some_and(|first| first == "$unordered") =>
        {
            got.len() + 1 == expected.len() && got.iter().all(|got| expected.contains(got))
        }
        (Value::Array(got), Value::Array(expected)) => {
            got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| same(a, b))
        }
        (got, expected) => got == expected,
    }
}

#[tokio::test]
async fn recorded_blocks_are_accepted_and_answered_as_by_the_reference() {
    let local = Local::new();
    for (chain, height, bytes) in blocks() {
        if chain == "C" {
            local.accept_c(&bytes).await;
        } else {
            local.accept(&bytes).await;
            assert_eq!(local.height(), height);
        }
    }
    let service = local.service();
    let file = String::from_utf8(test_file("vectors/chain/local-1.io")).unwrap();
    let (mut x, mut request, mut checked, mut wrong) = (false, "", 0, Vec::new());
    for line in file.lines() {
        if let Some(path) = line.strip_prefix(":path ") {
            x = path == "/ext/bc/X";
        } else if let Some(body) = line.strip_prefix(">> ") {
            request = body;
        } else if let (true, Some(reply)) = (x, line.strip_prefix("<< ")) {
            let json = Some("application/json");
            let got =
                object::handle(&service, "POST", json, request.as_bytes(), &Caller::default())
                    .await;
            let got: Value = serde_json::from_slice(&got.body).unwrap();
            let expected: Value = serde_json::from_str(reply).unwrap();
            if !same(&got, &expected) {
                wrong.push(format!("{request}\n  want {expected}\n  got  {got}"));
            }
            checked += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 200, "{checked}");
}

#[tokio::test]
async fn altered_blocks_are_refused_and_change_nothing() {
    let altered: Vec<Value> =
        serde_json::from_slice(&test_file("vectors/chain/local-1-altered.json")).unwrap();
    let local = Local::new();
    let at = BuildContext { now_ms: NOW_MS, ..BuildContext::default() };
    let mut refused = 0;
    for (chain, height, bytes) in blocks() {
        if chain == "C" {
            local.accept_c(&bytes).await;
            continue;
        }
        for case in altered.iter().filter(|case| case["chain"] == "X" && case["height"] == height) {
            let block = hex::decode(text(&case["bytes"]).trim_start_matches("0x")).unwrap();
            let reader = local.store.snapshot().unwrap();
            let reason = match local.vm.verify(reader.as_ref(), &block, &at) {
                Err(BlockError::Invalid(reason) | BlockError::NotYet { reason, .. }) => reason,
                other => panic!("{}: {other:?}", case["rule"]),
            };
            let expected = case["text"].as_str().unwrap_or_default();
            assert!(reason.contains(expected), "{}: {reason}", case["rule"]);
            assert_eq!(local.height() + 1, height);
            refused += 1;
        }
        local.accept(&bytes).await;
    }
    assert_eq!(refused, 10);
}

#[test]
fn exports_of_the_other_chain_are_read() {
    let chain_id = primary::x_chain_id(LOCAL_ID, &test_file("vectors/genesis/local-x.bin"));
    let utxos: Vec<Utxo> = blocks()
        .iter()
        .filter(|(chain, ..)| chain == "C")
        .flat_map(|(_, _, bytes)| c_exports(bytes, chain_id))
        .collect();
    assert!(!utxos.is_empty());
    for utxo in utxos {
        let bytes = utxo.to_versioned_bytes();
        assert_eq!(Utxo::from_versioned_bytes(&bytes, bytes.len()).unwrap(), utxo);
    }
}
