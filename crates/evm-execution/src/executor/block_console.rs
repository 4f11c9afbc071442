//! What the transactions of a block print.

use crate::console::ConsoleCalls;

/// Most bytes of call data that are kept of a block.
const MAX_BYTES: usize = 1 << 20;

/// A transaction of a block whose code printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxConsole {
    /// Index of the transaction in the block.
    pub index: usize,
    /// What it printed.
    pub console: ConsoleCalls,
}

/// The transactions of a block so far whose code printed.
#[derive(Debug, Default)]
pub(super) struct BlockConsole {
    txs: Vec<TxConsole>,
    bytes: usize,
}

impl BlockConsole {
    /// Adds a transaction, if it printed anything. Beyond the bound only the number of its calls is kept.
    pub(super) fn push(&mut self, index: usize, mut console: ConsoleCalls) {
        if console.is_empty() {
            return;
        }
        if self.bytes + console.bytes() > MAX_BYTES {
            console.drop_inputs();
        }
        self.bytes += console.bytes();
        self.txs.push(TxConsole { index, console });
    }

    pub(super) fn into_txs(self) -> Vec<TxConsole> {
        self.txs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_block_are_bounded() {
        let printed = || {
            let mut console = ConsoleCalls::default();
            console.push(60_000, || vec![1; 60_000].into());
            console
        };
        let mut block = BlockConsole::default();
        (0..30).for_each(|index| block.push(index, printed()));
        block.push(30, ConsoleCalls::default());
        let txs = block.into_txs();
        assert_eq!(txs.len(), 30);
        let kept = txs.iter().take_while(|tx| tx.console.bytes() > 0).count();
        assert_eq!(kept, MAX_BYTES / 60_000);
        assert!(txs[kept..].iter().all(|tx| tx.console.left_out() == 1 && tx.console.bytes() == 0));
        assert!(txs.iter().enumerate().all(|(index, tx)| tx.index == index));
    }
}
