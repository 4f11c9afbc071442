//! Builds a transaction on the present coins and issues it, again if others take the coins first.

use esker_transactions::xvm::Tx;

use super::super::Reply;
use super::KeysError;
use crate::chain::BuiltError;
use crate::chain::Issued;
use crate::chain::Xvm;
use crate::state::View;
use crate::wallet::{Coins, PendingCoins, PoolCoins};

/// How often a transaction is built if others take its coins each time.
const MAX_BUILDS: usize = 16;

/// Builds a transaction on what the pool leaves, and adds it to the pool.
pub(super) fn issue_on_pool(
    vm: &Xvm,
    build: &dyn Fn(&View<'_>, &PoolCoins<'_>) -> Reply<Tx>,
) -> Reply<Issued> {
    let mut failure = None;
    for _ in 0..MAX_BUILDS {
        let removals = vm.mempool.removals();
        let view = vm.view()?;
        let coins = PoolCoins::new(&view, vm.wallet.consumed());
        match build(&view, &coins) {
            Ok(tx) => match vm.issue_built(tx, &view) {
                Ok(issued) => return Ok(issued),
                Err(BuiltError::CoinsTaken(error)) => {
                    failure = Some(KeysError::Issue(error).into());
                }
                Err(BuiltError::Refused(error)) => {
                    vm.count_refused(&error);
                    return Err(KeysError::Issue(error).into());
                }
            },
            // A missing UTXO may have moved from the pool into the state during the search.
            Err(error) if vm.mempool.removals() != removals => failure = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(failure.unwrap_or_else(|| KeysError::CoinsTaken.into()))
}

/// Builds a transaction on what the wallet's pending transactions leave, and lets it follow them.
pub(super) fn issue_on_wallet(vm: &Xvm, build: &dyn Fn(&dyn Coins) -> Reply<Tx>) -> Reply<Issued> {
    for _ in 0..MAX_BUILDS {
        // In this order: whatever leaves the queue meanwhile is in the view.
        let pending = vm.wallet.pending();
        let view = vm.view()?;
        let tx = build(&PendingCoins::new(&view, &pending.txs)?)?;
        if let Some(issued) = vm.issue_after_pending(&tx, &pending) {
            return Ok(issued.map_err(KeysError::Issue)?);
        }
    }
    Err(KeysError::CoinsTaken.into())
}
