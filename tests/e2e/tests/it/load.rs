//! Load on both chains, and transfers between them, until the node is gone.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use esker_client::{CallError, RpcClient, Wallet, XvmClient};
use esker_e2e::funds::{funded, key};
use esker_e2e::{Node, until};
use esker_evm::accounts::address_of_key;
use esker_primitives::codec::Decode as _;
use esker_primitives::keys::PrivateKey;
use esker_primitives::network::LOCAL_ID;
use esker_primitives::{ChainId, TxId, hexfmt};
use esker_transactions::nat::{
    AtomicTx, EvmInput, EvmOutput, UnsignedAtomicTx, UnsignedExport, UnsignedImport,
};
use esker_utxo::{TransferInput, TransferableInput, Utxo};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::{accept, wallet};

/// The amount that is moved to the C-Chain at once, in billionths.
const AMOUNT: u64 = 2_000_000_000;
/// The amount that an atomic transaction burns: more than enough on the development network.
const BURNED: u64 = 1_000_000;

pub(crate) const NAT: &str = "/ext/bc/C/nat";
pub(crate) const EVM: &str = "/ext/bc/C/rpc";

/// The same numbers in each run (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// An export that was reported accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Export {
    FromX(TxId),
    FromC(TxId),
}

/// Sends on both chains and between them while `during` runs, which gets the exports that are accepted meanwhile. Returns
/// its result, and the further exports.
pub(crate) fn with_load<T>(
    address: SocketAddr,
    on_x: Wallet,
    mover: &Mover,
    during: impl FnOnce(&Receiver<Export>) -> T,
) -> (T, Vec<Export>) {
    let stop = AtomicBool::new(false);
    let (report, reports) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| send_on_x(XvmClient::new(address, "X"), on_x, &stop));
        scope.spawn(|| send_on_c(RpcClient::new(address), &stop));
        scope.spawn(|| {
            let report = report;
            while !stop.load(Ordering::Relaxed) {
                if mover.move_funds(address, &report).is_none() {
                    return;
                }
            }
        });
        let outcome = during(&reports);
        stop.store(true, Ordering::Relaxed);
        (outcome, reports.into_iter().collect())
    })
}

/// Transfers to oneself that spend each other, until the node is gone.
pub(crate) fn send_on_x(mut x: XvmClient, mut wallet: Wallet, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let output = Wallet::output(wallet.params().fee_asset_id, 5, wallet.owner());
        let tx = wallet.base_tx(vec![output], b"load").unwrap();
        if gone(x.issue_tx(&tx)).and_then(|id| wait_x(&mut x, &id)).is_none() {
            return;
        }
        wallet.apply(&tx);
    }
}

/// Transfers of an account of the node, until the node is gone.
pub(crate) fn send_on_c(mut rpc: RpcClient, stop: &AtomicBool) {
    let Some(accounts) = call::<Vec<String>>(&mut rpc, EVM, "eth_accounts", json!([])) else {
        return;
    };
    while !stop.load(Ordering::Relaxed) {
        let tx = json!([{"from": accounts[0], "to": accounts[1], "value": "0x3b9aca07"}]);
        let Some(hash) = call::<String>(&mut rpc, EVM, "eth_sendTransaction", tx) else { return };
        let receipt = until("it has a receipt, or the node is gone", || {
            let params = json!([hash]);
            match call::<Value>(&mut rpc, EVM, "eth_getTransactionReceipt", params) {
                Some(Value::Null) => None,
                receipt => Some(receipt),
            }
        });
        if receipt.is_none() {
            return;
        }
    }
}

/// `None` where the node is gone; a refusal fails the test.
pub(crate) fn gone<R>(result: Result<R, CallError>) -> Option<R> {
    match result {
        Ok(result) => Some(result),
        Err(CallError::Http(_)) => None,
        Err(refused) => panic!("{refused}"),
    }
}

pub(crate) fn call<R: DeserializeOwned>(
    rpc: &mut RpcClient,
    path: &str,
    method: &str,
    params: Value,
) -> Option<R> {
    gone(rpc.call(path, method, params))
}

/// Moves what it has from chain to chain.
pub(crate) struct Mover {
    key: PrivateKey,
    x: ChainId,
    c: ChainId,
}

impl Mover {
    /// Gives it, and the sender on X, funds.
    pub(crate) fn new(node: &Node) -> Self {
        let rich = wallet(node, "X", funded());
        let native = rich.params().fee_asset_id;
        let funds = |owner: u8| Wallet::output(native, 100 * AMOUNT, key(owner).address());
        accept(&mut node.x(), &rich.base_tx(vec![funds(1), funds(9)], b"").unwrap());
        let ids = ["X", "C"].map(|alias| {
            let params = json!({ "alias": alias });
            let reply: Value =
                node.rpc().call("/ext/info", "info.getBlockchainID", params).unwrap();
            reply["blockchainID"].as_str().unwrap().parse().unwrap()
        });
        Self { key: key(9), x: ids[0], c: ids[1] }
    }

    fn address(&self) -> String {
        self.key.address().to_string()
    }

    fn account(&self) -> alloy_primitives::Address {
        address_of_key(&self.key.public_key())
    }

    /// Takes what waits, and moves some there and all back. `None`: the node is gone.
    pub(crate) fn move_funds(
        &self,
        address: std::net::SocketAddr,
        report: &mpsc::Sender<Export>,
    ) -> Option<()> {
        self.take_all(address)?;
        let mut x = XvmClient::new(address, "X");
        let own = self.wallet(&mut x)?;
        let native = own.params().fee_asset_id;
        let to = Wallet::output(native, AMOUNT, self.key.address());
        let export = own.export(self.c, vec![to]).unwrap();
        gone(x.issue_tx(&export))?;
        wait_x(&mut x, &export.id())?;
        let _killed_already = report.send(Export::FromX(export.id()));
        self.take_on_c(address)?;
        let mut rpc = RpcClient::new(address);
        let id = self.export_from_c(&mut rpc, native)?;
        let _killed_already = report.send(Export::FromC(id));
        self.take_on_x(address)
    }

    /// Imports all that waits, on both chains. `None`: the node is gone.
    pub(crate) fn take_all(&self, address: std::net::SocketAddr) -> Option<()> {
        self.take_on_c(address)?;
        self.take_on_x(address)
    }

    fn take_on_x(&self, address: std::net::SocketAddr) -> Option<()> {
        let mut x = XvmClient::new(address, "X");
        let waiting = gone(x.walk_utxos(&[self.address()], 1024, Some("C")))?;
        if waiting.is_empty() {
            return Some(());
        }
        let own = self.wallet(&mut x)?;
        let import = own.import(self.c, &waiting, own.owner()).unwrap();
        gone(x.issue_tx(&import))?;
        wait_x(&mut x, &import.id())
    }

    fn take_on_c(&self, address: std::net::SocketAddr) -> Option<()> {
        let mut rpc = RpcClient::new(address);
        let params = json!({ "addresses": [self.address()], "sourceChain": "X", "limit": 1024 });
        let reply: Value = call(&mut rpc, NAT, "nat.getUTXOs", params)?;
        let mut waiting: Vec<Utxo> = reply["utxos"].as_array().unwrap().iter().map(parse).collect();
        if waiting.is_empty() {
            return Some(());
        }
        waiting.sort_by_key(|utxo| utxo.utxo_id);
        let amount_of = |utxo: &Utxo| utxo.output.as_transfer().unwrap().amount;
        let total: u64 = waiting.iter().map(amount_of).sum();
        let inputs = waiting.iter().map(|utxo| TransferableInput {
            utxo_id: utxo.utxo_id,
            asset_id: utxo.asset_id,
            input: TransferInput { amount: amount_of(utxo), sig_indices: vec![0] },
        });
        let import = UnsignedImport {
            network_id: LOCAL_ID,
            blockchain_id: self.c,
            source_chain: self.x,
            imported_inputs: inputs.collect(),
            outputs: vec![EvmOutput {
                address: self.account(),
                amount: total - BURNED,
                asset_id: waiting[0].asset_id,
            }],
        };
        let signers = vec![vec![&self.key]; waiting.len()];
        let tx = AtomicTx::sign(UnsignedAtomicTx::Import(import), &signers);
        self.issue_on_c(&mut rpc, &tx)
    }

    /// All that the account has, in whole billionths.
    fn export_from_c(
        &self,
        rpc: &mut RpcClient,
        native: esker_primitives::AssetId,
    ) -> Option<TxId> {
        let mut number = |method: &str| {
            let params = json!([self.account(), "latest"]);
            let text: String = call(rpc, EVM, method, params)?;
            Some(u128::from_str_radix(text.trim_start_matches("0x"), 16).unwrap())
        };
        let (balance, nonce) = (number("eth_getBalance")?, number("eth_getTransactionCount")?);
        let amount = u64::try_from(balance / 1_000_000_000).unwrap();
        let export = UnsignedExport {
            network_id: LOCAL_ID,
            blockchain_id: self.c,
            destination_chain: self.x,
            inputs: vec![EvmInput {
                address: self.account(),
                amount,
                asset_id: native,
                nonce: u64::try_from(nonce).unwrap(),
            }],
            exported_outputs: vec![Wallet::output(native, amount - BURNED, self.key.address())],
        };
        let tx = AtomicTx::sign(UnsignedAtomicTx::Export(export), &[vec![&self.key]]);
        self.issue_on_c(rpc, &tx)?;
        Some(tx.id())
    }

    /// Issues a transaction and waits for its acceptance.
    fn issue_on_c(&self, rpc: &mut RpcClient, tx: &AtomicTx) -> Option<()> {
        let params = json!({ "tx": hexfmt::encode_checked(tx.bytes()), "encoding": "hex" });
        let _id: Value = call(rpc, NAT, "nat.issueTx", params)?;
        until("accepted, or the node is gone", || match status_on_c(rpc, &tx.id()) {
            None => Some(None),
            Some(status) if status == "Accepted" => Some(Some(())),
            Some(status) => {
                assert_eq!(status, "Processing", "{}", tx.id());
                None
            }
        })
    }

    fn wallet(&self, x: &mut XvmClient) -> Option<Wallet> {
        let utxos = gone(x.walk_utxos(&[self.address()], 1024, None))?;
        let params = self.params(x)?;
        let mut wallet = Wallet::new(params, self.key.clone(), Vec::new(), crate::support::now_s());
        wallet.add_utxos(utxos);
        Some(wallet)
    }

    fn params(&self, x: &mut XvmClient) -> Option<esker_client::ChainParams> {
        let fees = gone(x.get_tx_fee())?;
        Some(esker_client::ChainParams {
            network_id: LOCAL_ID,
            chain_id: self.x,
            alias: "X".to_owned(),
            hrp: "local".to_owned(),
            fee_asset_id: gone(x.get_asset_description("NAT"))?.asset_id,
            tx_fee: fees.tx_fee,
            create_asset_fee: fees.create_asset_tx_fee,
        })
    }

    pub(crate) fn is_accepted(&self, node: &Node, export: &Export) -> bool {
        match export {
            Export::FromX(id) => node.x().get_tx_status(id).unwrap().is_accepted(),
            Export::FromC(id) => status_on_c(&mut node.rpc(), id).unwrap() == "Accepted",
        }
    }
}

/// Waits until a transaction of X is accepted. `None`: the node is gone.
pub(crate) fn wait_x(x: &mut XvmClient, id: &TxId) -> Option<()> {
    until("accepted, or the node is gone", || match gone(x.get_tx_status(id)) {
        None => Some(None),
        Some(status) if status.is_accepted() => Some(Some(())),
        Some(status) => {
            assert_ne!(status.status, "Rejected", "{id}: {:?}", status.reason);
            None
        }
    })
}

pub(crate) fn status_on_c(rpc: &mut RpcClient, id: &TxId) -> Option<String> {
    let params = json!({ "txID": id.to_string() });
    let reply: Value = call(rpc, NAT, "nat.getAtomicTxStatus", params)?;
    Some(reply["status"].as_str().unwrap().to_owned())
}

fn parse(text: &Value) -> Utxo {
    let bytes = hexfmt::decode_checked(text.as_str().unwrap()).unwrap();
    Utxo::from_versioned_bytes(&bytes, bytes.len()).unwrap()
}
