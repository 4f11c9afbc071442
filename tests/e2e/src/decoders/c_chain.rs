//! Consensus bytes of the C-Chain, its genesis, and the data that its keys sign.

use alloy_eips::eip2718::Encodable2718;
use alloy_rlp::Decodable;
use esker_evm::accounts::TypedData;
use esker_evm_execution::genesis::{Genesis, GenesisConfig};
use esker_evm_execution::rules::{CChainRules, FeeOverrides};
use esker_evm_rpc::evm::decode_transaction;
use esker_evm_state::state::ApplyOptions;
use esker_evm_state::types::{Block, Header};
use esker_storage::{Scope, WriteSet};

use super::primitives::value_of;

/// The highest type of transactions that may be sent.
const MAX_SENT_TYPE: u8 = 2;

/// A block, its header and its transactions.
pub(super) fn block(bytes: &[u8]) -> bool {
    let Some(block) = value_of(Block::parse(bytes)) else { return false };
    assert_eq!(block.to_bytes(), bytes);
    assert_eq!(block.hash(), block.header.hash());
    for header in block.uncles.iter().chain([&block.header]) {
        assert!(self::header(&alloy_rlp::encode(header)));
    }
    block.transactions_root();
    for tx in &block.transactions {
        // Different decoders read blocks and senders. They must not differ.
        let encoded = tx.encoded_2718();
        let sent = value_of(decode_transaction(&encoded));
        if encoded[0] > MAX_SENT_TYPE && encoded[0] < 0x80 {
            assert_eq!(sent, None, "a type that nobody may send");
        } else {
            assert_eq!(sent.as_ref(), Some(tx));
        }
    }
    true
}

/// A header by itself.
pub(super) fn header(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let Some(header) = value_of(Header::decode(&mut rest)) else { return false };
    let read = &bytes[..bytes.len() - rest.len()];
    assert_eq!(alloy_rlp::encode(&header), read);
    rest.is_empty()
}

/// A transaction as it is sent.
pub(super) fn transaction(bytes: &[u8]) -> bool {
    let Some(tx) = value_of(decode_transaction(bytes)) else { return false };
    let encoded = tx.encoded_2718();
    assert_eq!(value_of(decode_transaction(&encoded)).as_ref(), Some(&tx));
    // Numbers that are not a signature were replaced by those of no key.
    let is_of_nobody = tx.signature().r().is_zero() && tx.signature().s().is_zero();
    assert!(is_of_nobody || encoded == bytes);
    true
}

/// The JSON of a genesis, and the first block of it.
pub(super) fn genesis(bytes: &[u8]) -> bool {
    let Some(genesis) = value_of(Genesis::parse(bytes)) else { return false };
    let config = GenesisConfig::parse(bytes).expect("a genesis has a config");
    let Some(schedule) = value_of(config.schedule()) else { return false };
    let rules = CChainRules::new(config.chain_id, schedule, FeeOverrides::default());
    let build = || {
        let mut state = WriteSet::default();
        let block = genesis.build(&rules, Scope(1), ApplyOptions::default(), &mut state);
        (value_of(block).expect("memory does not fail"), state)
    };
    let (block, state) = build();
    assert_eq!(build(), (block.clone(), state));
    assert!(self::block(&block.to_bytes()));
    true
}

/// Structured data to sign.
pub(super) fn typed_data(bytes: &[u8]) -> bool {
    let Some(data) = value_of(TypedData::parse(bytes)) else { return false };
    let Some(hash) = value_of(data.signing_hash()) else { return false };
    assert_eq!(data.signing_hash(), Ok(hash));
    true
}
