//! The transaction that gives the development accounts their X-Chain balance
//! (docs/decisions.md, "Development network").

use esker_primitives::ShortId;
use esker_utxo::{
    FxKind, OutputOwners, TransferInput, TransferOutput, TransferableInput, TransferableOutput,
    UtxoId,
};
use esker_xvm::txs::{BaseTx, Tx, UnsignedTx};

use super::Network;
use super::accounts::{DEV_ACCOUNTS, DEV_BALANCE, WELL_KNOWN};

/// Nano-units of one unit of the native asset.
const NANO: u64 = 1_000_000_000;

/// Index of the well-known key's genesis UTXO among the outputs of the native asset.
const WELL_KNOWN_INDEX: u32 = 1;

/// Genesis balance of the well-known key, in nano-units.
const WELL_KNOWN_AMOUNT: u64 = 300_000_000 * NANO;

/// Spends the well-known key's genesis UTXO of the local network's X-Chain: [`DEV_BALANCE`] to each of
/// [`DEV_ACCOUNTS`], the change back to the key. Bytes and ID are always the same.
pub fn dev_funding_tx(network: &Network) -> Tx {
    let x = network.x_chain();
    let (asset_id, key) = (network.native_asset_id, WELL_KNOWN.key());
    let output = |amount, owner: ShortId| TransferableOutput {
        asset_id,
        output: TransferOutput { amount, owners: OutputOwners::single(owner) },
    };
    let balance = DEV_BALANCE * NANO;
    let given = balance * DEV_ACCOUNTS.len() as u64 + network.x_fees().tx_fee;
    let mut outputs: Vec<_> =
        DEV_ACCOUNTS.iter().map(|account| output(balance, account.address())).collect();
    outputs.push(output(WELL_KNOWN_AMOUNT - given, key.address()));
    TransferableOutput::sort(&mut outputs);
    let input = TransferableInput {
        utxo_id: UtxoId { tx_id: asset_id, output_index: WELL_KNOWN_INDEX },
        asset_id,
        input: TransferInput { amount: WELL_KNOWN_AMOUNT, sig_indices: vec![0] },
    };
    let base = BaseTx {
        network_id: network.id,
        blockchain_id: x.id,
        outputs,
        inputs: vec![input],
        memo: Vec::new(),
    };
    Tx::sign(UnsignedTx::Base(base), &[(FxKind::Secp256k1, vec![&key])])
}

#[cfg(test)]
mod tests {
    use super::super::Preset;
    use super::*;

    #[test]
    fn it_funds_the_accounts_and_is_always_the_same() {
        let network = Preset::Dev.network();
        let tx = dev_funding_tx(&network);
        assert_eq!(tx.id(), dev_funding_tx(&network).id());
        let base = tx.unsigned().base();
        assert!(TransferableOutput::is_sorted(&base.outputs));
        let amount = |owner| -> u64 {
            let of = |output: &&TransferableOutput| output.output.owners.addresses == [owner];
            base.outputs.iter().filter(of).map(|output| output.output.amount).sum()
        };
        for account in DEV_ACCOUNTS {
            assert_eq!(amount(account.address()), 10_000 * NANO);
        }
        let rest = 300_000_000 * NANO - 100_000 * NANO - network.x_fees().tx_fee;
        assert_eq!(amount(WELL_KNOWN.address()), rest);
    }
}
