//! Signed transactions, and those who send them.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use alloy_primitives::{Address, U256};
use esker_client::{ChainParams, RpcClient, Wallet, XvmClient};
use esker_e2e::funds::{funded, key};
use esker_e2e::{Node, until};
use esker_evm::accounts::address_of_key;
use esker_primitives::keys::PrivateKey;
use esker_transactions::xvm::{BaseTx, Tx, UnsignedTx};
use esker_utxo::{FxKind, TransferInput, TransferableInput, UtxoId};
use serde_json::{Value, json};

use crate::load::EVM;
use crate::support::{accept, wallet};
use crate::validator_txs::signed_transfer;

/// Senders on each chain.
pub(super) const SENDERS: usize = 8;

/// Outputs of a transaction that spreads funds.
const OUTPUTS: usize = 700;

/// Keys of the senders on C: from this number.
const FIRST_KEY: u8 = 20;

/// The owner of the outputs on X, and who is paid.
const OWNER: u8 = 1;
const PAID: u8 = 2;

/// A transaction that a node has taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) is_x: bool,
    /// The node's number.
    pub(super) node: usize,
    /// When it has answered.
    pub(super) answered: Instant,
}

/// A signed transaction.
enum Signed {
    X(Tx),
    C(String),
}

/// Who sends transactions, one after the other, to one node.
pub(super) struct Sender {
    number: usize,
    txs: Vec<Signed>,
}

impl Sender {
    /// Half of the senders use the first node, the others the rest in turn.
    fn node(&self, nodes: usize) -> usize {
        match nodes {
            1 => 0,
            _ if self.number.is_multiple_of(2) => 0,
            _ => 1 + self.number / 2 % (nodes - 1),
        }
    }

    /// Sends all, at this interval or as fast as the node answers. Returns what was sent, by ID or hash.
    pub(super) fn send_all(
        self,
        addresses: &[SocketAddr],
        interval: Option<Duration>,
    ) -> Vec<(String, Sent)> {
        let node = self.node(addresses.len());
        let (mut x, mut rpc) =
            (XvmClient::new(addresses[node], "X"), RpcClient::new(addresses[node]));
        // Not all at the same moment.
        let part = f64::from(u32::try_from(self.number).unwrap()) / SENDERS as f64;
        let offset = interval.unwrap_or_default().mul_f64(part);
        let begun = Instant::now() + offset;
        let mut sent = Vec::with_capacity(self.txs.len());
        for (number, tx) in (0..).zip(self.txs) {
            if let Some(interval) = interval {
                let due = begun + interval * number;
                thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            let (id, is_x) = match tx {
                Signed::X(tx) => (x.issue_tx(&tx).unwrap().to_string(), true),
                Signed::C(raw) => {
                    (rpc.call(EVM, "eth_sendRawTransaction", json!([raw])).unwrap(), false)
                }
            };
            sent.push((id, Sent { is_x, node, answered: Instant::now() }));
        }
        sent
    }
}

/// The transactions of a phase.
pub(super) struct Batch(Vec<Sender>);

impl Batch {
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|sender| sender.txs.len()).sum()
    }

    pub(super) fn into_senders(self) -> Vec<Sender> {
        self.0
    }
}

/// The funds that senders can still spend.
pub(super) struct Funds {
    params: ChainParams,
    outputs: Vec<UtxoId>,
    nonce: u64,
}

fn sender_key(number: usize) -> PrivateKey {
    key(FIRST_KEY + u8::try_from(number).unwrap())
}

impl Funds {
    /// Gives each sender funds for so many transactions.
    pub(super) fn new(node: &Node, of_sender: usize) -> Self {
        let ether = U256::from(10).pow(U256::from(18));
        for (nonce, number) in (0..).zip(0..SENDERS) {
            let to = address_of_key(&sender_key(number).public_key());
            let raw = signed_transfer(&funded(), nonce, to, ether * U256::from(1_000));
            let hash: String =
                node.rpc().call(EVM, "eth_sendRawTransaction", json!([raw])).unwrap();
            until("a sender has funds", || {
                let receipt: Value =
                    node.rpc().call(EVM, "eth_getTransactionReceipt", json!([hash])).unwrap();
                (!receipt.is_null()).then_some(())
            });
        }
        let mut rich = wallet(node, "X", funded());
        let params = rich.params().clone();
        let (amount, owner) = (2 * params.tx_fee, key(OWNER).address());
        let mut outputs = Vec::new();
        while outputs.len() < SENDERS * of_sender {
            let spread = vec![Wallet::output(params.fee_asset_id, amount, owner); OUTPUTS];
            let tx = rich.base_tx(spread, b"").unwrap();
            rich.apply(&tx);
            accept(&mut node.x(), &tx);
            let made = (0..).zip(&tx.unsigned().base().outputs);
            let made = made.filter(|(_, out)| out.output.owners.addresses == [owner]);
            outputs.extend(made.map(|(output_index, _)| UtxoId { tx_id: tx.id(), output_index }));
        }
        Self { params, outputs, nonce: 0 }
    }

    fn payment(&mut self) -> Signed {
        let (params, owner) = (&self.params, key(OWNER));
        let utxo_id = self.outputs.pop().expect("enough outputs were made");
        let input = TransferInput { amount: 2 * params.tx_fee, sig_indices: vec![0] };
        let output = Wallet::output(params.fee_asset_id, params.tx_fee, key(PAID).address());
        let base = BaseTx {
            network_id: params.network_id,
            blockchain_id: params.chain_id,
            outputs: vec![output],
            inputs: vec![TransferableInput { utxo_id, asset_id: params.fee_asset_id, input }],
            memo: Vec::new(),
        };
        Signed::X(Tx::sign(UnsignedTx::Base(base), &[(FxKind::Secp256k1, vec![&owner])]))
    }

    /// Signs so many transactions for each sender.
    pub(super) fn batch(&mut self, of_sender: usize) -> Batch {
        let nonces = self.nonce..self.nonce + of_sender as u64;
        self.nonce = nonces.end;
        let on_x = (0..SENDERS)
            .map(|number| Sender { number, txs: (0..of_sender).map(|_| self.payment()).collect() });
        let mut senders: Vec<_> = on_x.collect();
        senders.extend((0..SENDERS).map(|number| {
            let (key, to) = (sender_key(number), Address::repeat_byte(7));
            let sign = |nonce| Signed::C(signed_transfer(&key, nonce, to, U256::from(1)));
            Sender { number, txs: nonces.clone().map(sign).collect() }
        }));
        Batch(senders)
    }
}
