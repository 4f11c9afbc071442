//! The data that AvalancheGo serves: containers of its index, and blocks and transactions of P.

use esker_avalanchego::{Chain, Outer};
use esker_platform::{Block, Exchange, Tx};
use esker_primitives::Id;

use super::chain::round_trip;
use super::primitives::value_of;

/// A block of the proposer VM.
pub(super) fn container(bytes: &[u8]) -> bool {
    let parsed = Chain::ALL.map(|chain| value_of(Outer::parse(chain, bytes)));
    for outer in parsed.iter().flatten() {
        assert_eq!(outer.to_bytes(), bytes);
        value_of(Block::parse(&outer.inner));
    }
    // An outer block is one on each chain.
    let is_outer = parsed.iter().any(Option::is_some);
    assert!(!is_outer || parsed.iter().all(Option::is_some));
    is_outer
}

/// A block of P.
pub(super) fn p_block(bytes: &[u8]) -> bool {
    let Some(block) = value_of(Block::parse(bytes)) else { return false };
    assert_eq!((block.bytes.as_ref(), block.id), (bytes, Id::sha256(bytes)));
    block.txs.iter().for_each(look_at);
    true
}

/// A signed transaction of P.
pub(super) fn p_tx(bytes: &[u8]) -> bool {
    let Some(tx) = value_of(Tx::parse(bytes)) else { return false };
    assert_eq!(tx.id, Id::sha256(bytes));
    look_at(&tx);
    true
}

fn look_at(tx: &Tx) {
    if let Some(Exchange::Export { utxos, .. }) = &tx.exchange {
        for utxo in utxos {
            assert_eq!(utxo.utxo_id.tx_id, tx.id);
            round_trip(utxo);
        }
    }
}
