//! The transactions that give the development accounts their X-Chain balance
//! (docs/decisions.md, "Development network").

use esker_primitives::{ChainId, ShortId};
use esker_transactions::xvm::{BaseTx, Tx, UnsignedTx};
use esker_utxo::{
    FxKind, OutputOwners, TransferInput, TransferOutput, TransferableInput, TransferableOutput,
    UtxoId,
};

use super::accounts::{Account, well_known};
use super::dev_accounts::WELL_KNOWN_UNITS;
use super::spec::Network;

/// Nano-units of one unit of the native asset.
const NANO: u64 = 1_000_000_000;

/// Index of the well-known key's genesis UTXO among the outputs of the native asset.
const WELL_KNOWN_INDEX: u32 = 1;

/// Accounts funded by one transaction, so that it has fewer bytes than a transaction may have.
const ACCOUNTS_PER_TX: usize = 500;

/// Spends the well-known key's genesis UTXO of the local network's X-Chain: its balance to each development account,
/// and the change back to the key. Each transaction spends the change of the one before. Bytes and IDs are always the
/// same. There are no transactions without development accounts, or if they get nothing.
pub fn dev_funding_txs(network: &Network) -> Vec<Tx> {
    dev_funding(network).0
}

/// Like [`dev_funding_txs`], with the rest that the well-known key keeps.
pub(crate) fn dev_funding(network: &Network) -> (Vec<Tx>, Source) {
    let mut source = Source {
        utxo_id: UtxoId { tx_id: network.native_asset_id, output_index: WELL_KNOWN_INDEX },
        amount: WELL_KNOWN_UNITS * NANO,
    };
    let funded = network.dev_accounts.as_ref().filter(|funded| funded.balance > 0);
    let (Some(funded), Some(chain)) = (funded, network.x_chain()) else {
        return (Vec::new(), source);
    };
    let mut txs = Vec::new();
    for accounts in funded.accounts.chunks(ACCOUNTS_PER_TX) {
        let given = (accounts, funded.balance * NANO);
        let (tx, change) = funding_tx(network, chain.id, given, &source);
        txs.push(tx);
        source = change;
    }
    (txs, source)
}

/// A UTXO of the well-known key.
pub(crate) struct Source {
    pub(crate) utxo_id: UtxoId,
    /// Nano-units.
    pub(crate) amount: u64,
}

/// A transaction that gives each account a balance in nano-units, and the UTXO of its change.
fn funding_tx(
    network: &Network,
    blockchain_id: ChainId,
    (accounts, balance): (&[Account], u64),
    source: &Source,
) -> (Tx, Source) {
    let (asset_id, well_known) = (network.native_asset_id, well_known());
    let output = |amount, owner: ShortId| TransferableOutput {
        asset_id,
        output: TransferOutput { amount, owners: OutputOwners::single(owner) },
    };
    let given = balance * accounts.len() as u64 + network.x_fees().tx_fee;
    let change = output(source.amount - given, well_known.address());
    let mut outputs: Vec<_> =
        accounts.iter().map(|account| output(balance, account.address())).collect();
    outputs.push(change.clone());
    TransferableOutput::sort(&mut outputs);
    let change_index = outputs.iter().position(|output| *output == change);
    let input = TransferableInput {
        utxo_id: source.utxo_id,
        asset_id,
        input: TransferInput { amount: source.amount, sig_indices: vec![0] },
    };
    let base = BaseTx {
        network_id: network.id,
        blockchain_id,
        outputs,
        inputs: vec![input],
        memo: Vec::new(),
    };
    let signers = [(FxKind::Secp256k1, vec![well_known.key()])];
    let tx = Tx::sign(UnsignedTx::Base(base), &signers);
    let output_index = change_index.and_then(|index| u32::try_from(index).ok());
    let output_index = output_index.expect("the change is one of the outputs");
    let change =
        Source { utxo_id: UtxoId { tx_id: tx.id(), output_index }, amount: change.output.amount };
    (tx, change)
}

#[cfg(test)]
mod tests {
    use super::super::dev::dev_network;
    use super::super::dev_accounts::{DevAccounts, DevOptions, MAX_FUNDS};
    use super::super::presets::Preset;
    use super::*;

    /// The amount that an owner gets, in nano-units.
    fn amount(tx: &Tx, owner: ShortId) -> u64 {
        let of = |output: &&TransferableOutput| output.output.owners.addresses == [owner];
        tx.unsigned().base().outputs.iter().filter(of).map(|output| output.output.amount).sum()
    }

    #[test]
    fn it_funds_the_accounts_and_is_always_the_same() {
        let network = Preset::Dev.network();
        let txs = dev_funding_txs(&network);
        let [tx] = txs.as_slice() else { panic!("{} transactions", txs.len()) };
        assert_eq!(tx.id().to_string(), "2chs8mfBmjYSzp9mdJsPeioqdojYo2uoes1Adu8oHQ7GSwptYE");
        assert!(TransferableOutput::is_sorted(&tx.unsigned().base().outputs));
        for account in &DevAccounts::usual().accounts {
            assert_eq!(amount(tx, account.address()), 10_000 * NANO);
        }
        let rest = 300_000_000 * NANO - 100_000 * NANO - network.x_fees().tx_fee;
        assert_eq!(amount(tx, well_known().address()), rest);
    }

    #[test]
    fn many_accounts_take_several_transactions_that_spend_each_others_change() {
        let options = DevOptions { count: Some(1000), ..DevOptions::default() };
        let network = dev_network(&options).unwrap();
        let txs = dev_funding_txs(&network);
        let [first, second] = txs.as_slice() else { panic!("{} transactions", txs.len()) };
        let accounts = &network.dev_accounts.as_ref().unwrap().accounts;
        for (index, account) in accounts.iter().enumerate() {
            let tx = if index < 500 { first } else { second };
            assert_eq!(amount(tx, account.address()), 10_000 * NANO, "{index}");
        }
        let input = &second.unsigned().base().inputs[0];
        assert_eq!(input.utxo_id.tx_id, first.id());
        let index = usize::try_from(input.utxo_id.output_index).unwrap();
        let spent = &first.unsigned().base().outputs[index];
        assert_eq!(spent.output.amount, input.input.amount);
        assert_eq!(spent.output.owners.addresses, [well_known().address()]);
        for tx in &txs {
            assert!(tx.bytes().len() < 64 << 10, "{} bytes", tx.bytes().len());
        }
    }

    #[test]
    fn the_largest_balance_leaves_change_and_none_needs_no_transaction() {
        let balance = |units| {
            let options =
                DevOptions { count: Some(1), balance: Some(units), ..DevOptions::default() };
            dev_funding_txs(&dev_network(&options).unwrap())
        };
        assert_eq!(amount(&balance(MAX_FUNDS)[0], well_known().address()), NANO - 1_000_000);
        assert!(balance(0).is_empty());
        assert!(dev_funding_txs(&Preset::Local.network()).is_empty());
    }
}
