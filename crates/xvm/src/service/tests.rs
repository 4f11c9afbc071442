//! The methods over a chain in memory: what the recorded exchanges do not reach.

use std::sync::Arc;

use esker_chain::{ChainContext, ChainVm, FixedAliases};
use esker_go_json::Document;
use esker_primitives::clock::ManualClock;
use esker_primitives::{ChainId, ShortId};
use esker_rpc::{CallContext, CallError, Dialect, Lookup, Params, Service};
use esker_storage::{KvStore, MemoryStore, Scope, Store, WriteSet};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::routes;
use crate::chain::{Xvm, XvmConfig};
use crate::genesis::define::{AssetDefinition, Holder, genesis};
use crate::genesis::primary::fresh_genesis_block;

/// A chain whose genesis gives 5 units to one address.
pub(super) fn chain() -> Arc<Xvm> {
    let address = ShortId::new([7; 20]);
    let native = AssetDefinition {
        alias: "AVAX".to_owned(),
        name: "Avalanche".to_owned(),
        symbol: "AVAX".to_owned(),
        fixed_cap: Some(vec![Holder { amount: 5, address }]),
        ..AssetDefinition::default()
    };
    let genesis = genesis(12345, [native]).unwrap();
    let chain_id = ChainId::sha256(b"a chain");
    let kv: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let store = Store::new(Arc::clone(&kv)).unwrap();
    let context = ChainContext {
        network_id: 12345,
        hrp: "local".to_owned(),
        chain_id,
        scope: Scope(1),
        native_asset_id: genesis.fee_asset_id().unwrap(),
        native_aliases: vec!["NAT".to_owned(), "AVAX".to_owned()],
        aliases: Arc::new(FixedAliases(vec![("X", chain_id)])),
        clock: Arc::new(ManualClock::new(1_700_000_000_000)),
        store,
        peers: Arc::new(vec![ChainId::ZERO, chain_id]),
        work: Arc::new(Notify::new()),
        forwarding: None,
        exchange: None,
        block_waits: None,
        impersonations: None,
    };
    let block = fresh_genesis_block(chain_id);
    let vm = Xvm::new(context, XvmConfig::default(), genesis, block).unwrap();
    let mut writes = WriteSet::default();
    vm.genesis(&mut writes).unwrap();
    kv.write(&writes).unwrap();
    vm.check(kv.snapshot().unwrap().as_ref()).unwrap();
    vm
}

/// The endpoints of [`chain`].
fn endpoints() -> (Service, Service) {
    let mut services = routes(chain()).into_iter().map(|route| match route.dialect {
        Dialect::Object(service) => service,
        Dialect::Positional(_) => panic!("{}: another dialect", route.suffix),
    });
    (services.next().unwrap(), services.next().unwrap())
}

/// Calls a method with arguments given as JSON text.
fn call(
    service: &Service,
    namespace: &str,
    method: &str,
    arguments: &str,
) -> Result<Value, CallError> {
    let Lookup::Found(found) = service.find(namespace, method) else {
        panic!("{method} is not there")
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let params = Params::Named(Document::first(arguments.as_bytes()).unwrap());
    let context = CallContext::default();
    let reply = runtime.block_on(found.call(params, &context, Vec::new()))?;
    Ok(serde_json::from_slice(&reply).unwrap())
}

#[test]
fn each_method_is_listed_once_with_its_deprecation() {
    let (x, wallet) = endpoints();
    let listed = |service: &Service| -> Vec<String> {
        let line = |info: &esker_rpc::MethodInfo| {
            assert_eq!(info.deprecated_since.is_some(), info.instead.is_some(), "{info:?}");
            format!("{}.{} {}", info.namespace, info.name, info.deprecated_since.unwrap_or("-"))
        };
        service.methods().map(line).collect()
    };
    expect_test::expect![[r#"
        xvm.buildGenesis -
        xvm.getAddressTxs v1.9.12
        xvm.getAllBalances v1.9.12
        xvm.getAssetDescription -
        xvm.getBalance v1.9.12
        xvm.getBlock -
        xvm.getBlockByHeight -
        xvm.getHeight -
        xvm.getTx -
        xvm.getTxFee -
        xvm.getTxStatus v1.10.0
        xvm.getUTXOs -
        xvm.issueTx -
        xvm.createAddress v1.9.12
        xvm.createAsset v1.9.12
        xvm.createFixedCapAsset v1.9.12
        xvm.createNFTAsset v1.9.12
        xvm.createVariableCapAsset v1.9.12
        xvm.export v1.9.12
        xvm.exportKey v1.9.12
        xvm.import v1.9.12
        xvm.importKey v1.9.12
        xvm.listAddresses v1.9.12
        xvm.mint v1.9.12
        xvm.mintNFT v1.9.12
        xvm.send v1.9.12
        xvm.sendMultiple v1.9.12
        xvm.sendNFT v1.9.12
        xvm.subscribe -
        xvm.unsubscribe -
        wallet.issueTx v1.9.12
        wallet.send v1.9.12
        wallet.sendMultiple v1.9.12"#]]
    .assert_eq(&[listed(&x), listed(&wallet)].concat().join("\n"));
}

#[test]
fn the_native_asset_goes_by_each_alias_and_is_shown_by_the_genesis_own() {
    let (x, _) = endpoints();
    let address = ShortId::new([7; 20]).to_string();
    for asset in ["NAT", "AVAX"] {
        let balance = call(
            &x,
            "xvm",
            "getBalance",
            &json!({"address": address, "assetID": asset}).to_string(),
        );
        assert_eq!(balance.unwrap()["balance"], "5");
    }
    let all =
        call(&x, "avm", "getAllBalances", &json!({ "address": address }).to_string()).unwrap();
    assert_eq!(all, json!({"balances": [{"asset": "AVAX", "balance": "5"}]}));
}

#[test]
fn a_reason_is_shown_only_of_a_rejected_transaction() {
    let (x, _) = endpoints();
    let unknown = json!({"txID": ChainId::sha256(b"?"), "includeReason": true}).to_string();
    assert_eq!(call(&x, "xvm", "getTxStatus", &unknown).unwrap(), json!({"status": "Unknown"}));
}

/// JSON that looks like arguments: the members that methods have, with values of every kind.
fn arguments() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        Just(String::new()),
        Just("X".to_owned()),
        Just("AVAX".to_owned()),
        Just("json".to_owned()),
        Just("hexnc".to_owned()),
        Just("0x".to_owned()),
        Just("0x0000".to_owned()),
        Just("18446744073709551616".to_owned()),
        Just(ShortId::new([7; 20]).to_string()),
        Just(ChainId::sha256(b"a chain").to_string()),
        "\\PC{0,12}",
        "[0-9a-fx]{0,40}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,8}", inner.clone(), 0..3)
                .prop_map(Value::from_iter),
            inner.prop_map(
                |v| json!({"a": {"initialState": {"fixedCap": [v.clone()], "variableCap": [v]}}})
            ),
        ]
    });
    const MEMBERS: [&str; 17] = [
        "address",
        "addresses",
        "assetID",
        "blockID",
        "cursor",
        "encoding",
        "genesisData",
        "height",
        "includePartial",
        "includeReason",
        "limit",
        "networkID",
        "pageSize",
        "sourceChain",
        "startIndex",
        "tx",
        "txID",
    ];
    let member = (prop::sample::select(MEMBERS.as_slice()), value);
    prop::collection::vec(member, 0..6).prop_map(|members| {
        let members: Vec<String> = members.iter().map(|(n, v)| format!("\"{n}\":{v}")).collect();
        format!("{{{}}}", members.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever the arguments, a method answers with a result or an error.
    #[test]
    fn no_arguments_make_a_method_crash(arguments in arguments()) {
        let (x, wallet) = endpoints();
        for (service, namespace) in [(&x, "xvm"), (&wallet, "wallet")] {
            let names: Vec<&'static str> = service.methods().map(|info| info.name).collect();
            for name in names {
                let outcome = call(service, namespace, name, &arguments);
                prop_assert_ne!(outcome, Err(CallError::Panicked), "{}", name);
            }
        }
    }
}
