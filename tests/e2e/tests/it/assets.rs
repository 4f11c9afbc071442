//! Assets of every kind, made, minted, moved and burnt by the client's wallet.

use esker_client::WalletError;
use esker_e2e::Node;
use esker_e2e::funds::{funded, key};
use esker_primitives::AssetId;
use esker_transactions::xvm::InitialState;
use esker_utxo::{FxKind, NftMintOutput, Output, OutputOwners, TransferOutput};
use serde_json::{Value, json};

use crate::support::{accept, assert_state_is_replay, local, wallet};

#[test]
fn amounts_fixed_and_minted() {
    let node = local().start().unwrap();
    let own = wallet(&node, "X", funded());
    let (me, other) = (own.owner(), key(5).address());
    let states = vec![InitialState {
        fx_index: FxKind::Secp256k1.index(),
        outputs: vec![
            Output::SecpTransfer(TransferOutput { amount: 100, owners: OutputOwners::single(me) }),
            Output::SecpMint(OutputOwners::single(me)),
        ],
    }];
    let coin = create(&node, "Test coin", "TST", 3, states);
    let described = node.x().get_asset_description(&coin.to_string()).unwrap();
    assert_eq!(
        (described.name.as_str(), described.symbol.as_str(), described.denomination),
        ("Test coin", "TST", 3)
    );
    for amount in [7, 8] {
        let own = wallet(&node, "X", funded());
        accept(&mut node.x(), &own.mint(coin, amount, other).unwrap());
    }
    assert_eq!(wallet(&node, "X", key(5)).balance(&coin), 15);
    // Minted amounts move like any other amount. The fee is paid in the native asset.
    let native = node.x().get_asset_description("NAT").unwrap().asset_id;
    let poor = wallet(&node, "X", key(5));
    let output = esker_client::Wallet::output(coin, 4, me);
    let short = poor.base_tx(vec![output.clone()], b"").unwrap_err();
    assert_eq!(
        short,
        WalletError::InsufficientFunds { asset: native, wanted: 1_000_000, available: 0 }
    );
    assert_eq!(poor.mint(coin, 1, other).unwrap_err(), WalletError::NoAuthority(coin));
    let own = wallet(&node, "X", funded());
    accept(&mut node.x(), &own.base_tx(vec![output], b"").unwrap());
    assert_eq!(node.x().get_balance(&me.to_string(), &coin.to_string()).unwrap().balance, 100);
    assert_state_is_replay(&mut node.x(), &[native]);
}

#[test]
fn nfts_minted_and_given_away() {
    let node = local().start().unwrap();
    let own = wallet(&node, "X", funded());
    let mint = |group_id| {
        Output::NftMint(NftMintOutput { group_id, owners: OutputOwners::single(own.owner()) })
    };
    let states =
        vec![InitialState { fx_index: FxKind::Nft.index(), outputs: vec![mint(0), mint(1)] }];
    let nft = create(&node, "Test NFT", "NFT", 0, states);
    let own = wallet(&node, "X", funded());
    let owners = vec![OutputOwners::single(own.owner()), OutputOwners::single(key(6).address())];
    let minting = own.mint_nft(nft, b"payload", owners).unwrap();
    accept(&mut node.x(), &minting);
    let group = nfts(&node, &key(6).address().to_string())[0].0;
    let own = wallet(&node, "X", funded());
    accept(&mut node.x(), &own.send_nft(nft, group, key(6).address()).unwrap());
    let held = nfts(&node, &key(6).address().to_string());
    assert_eq!(held, [(group, b"payload".to_vec()), (group, b"payload".to_vec())]);
    let own = wallet(&node, "X", funded());
    assert_eq!(own.send_nft(nft, group, own.owner()).unwrap_err(), WalletError::NoAuthority(nft));
    let shown = node.x().get_tx_json(&minting.id()).unwrap();
    assert_eq!(shown["unsignedTx"]["operations"][0]["operation"]["payload"], "0x7061796c6f6164");
}

/// Group and payload of each NFT of an address.
fn nfts(node: &Node, address: &str) -> Vec<(u32, Vec<u8>)> {
    let utxos = node.x().walk_utxos(&[address.to_owned()], 1024, None).unwrap();
    let nft = |output: Output| match output {
        Output::NftTransfer(nft) => Some((nft.group_id, nft.payload)),
        _ => None,
    };
    utxos.into_iter().filter_map(|utxo| nft(utxo.output)).collect()
}

#[test]
fn properties_minted_and_burnt() {
    let node = local().start().unwrap();
    let own = wallet(&node, "X", funded());
    let outputs = vec![Output::PropertyMint(OutputOwners::single(own.owner()))];
    let states = vec![InitialState { fx_index: FxKind::Property.index(), outputs }];
    let property = create(&node, "Test property", "PRP", 0, states);
    let own = wallet(&node, "X", funded());
    accept(&mut node.x(), &own.mint_property(property, own.owner()).unwrap());
    let own = wallet(&node, "X", funded());
    let burning = own.burn_property(property).unwrap();
    accept(&mut node.x(), &burning);
    let own = wallet(&node, "X", funded());
    assert_eq!(own.burn_property(property).unwrap_err(), WalletError::NoAuthority(property));
    let refused = node.x().issue_tx(&burning).unwrap_err();
    assert_eq!(refused.rpc_message(), Some("not found"), "burnt already");
}

#[test]
fn assets_of_one_genesis_built_by_the_node() {
    // buildGenesis answers the same bytes on the static endpoint and on the chain's.
    let node = local().start().unwrap();
    let data = json!({"coin": {"name": "Coin", "symbol": "C", "initialState": {"variableCap": [
        {"minters": ["local1q7nedwpmvgjks36jxfm7kel0xledhg7m5kum8z"], "threshold": 1}
    ]}}});
    let params = json!({"networkID": 12345, "genesisData": data});
    let bytes = ["/ext/vm/xvm", "/ext/vm/avm", "/ext/bc/X"].map(|path| {
        node.rpc().call::<Value>(path, "xvm.buildGenesis", &params).unwrap()["bytes"].clone()
    });
    assert!(bytes[0].as_str().is_some_and(|b| b.starts_with("0x")));
    assert!(bytes.iter().all(|b| *b == bytes[0]));
}

/// Creates an asset with the funded key.
fn create(
    node: &Node,
    name: &str,
    symbol: &str,
    denomination: u8,
    states: Vec<InitialState>,
) -> AssetId {
    let own = wallet(node, "X", funded());
    accept(&mut node.x(), &own.create_asset(name, symbol, denomination, states).unwrap())
}
