//! Receipts of transactions.

use alloy_consensus::{Eip658Value, Receipt as EthReceipt, ReceiptWithBloom, RlpEncodableReceipt};
use alloy_primitives::{Address, B256, Bloom, Log, logs_bloom};
use alloy_rlp::{BufMut, Decodable, RlpDecodable, RlpEncodable};
use alloy_trie::root::ordered_trie_root_with_encoder;
use esker_storage::ValueCodec;

/// A receipt with values that a reader would otherwise have to compute again: the sender, whose recovery costs more
/// than the rest of a look-up, and the created contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Type of the transaction.
    pub tx_type: u8,
    /// Whether the transaction succeeded.
    pub success: bool,
    /// Gas of this transaction and the earlier ones in the block.
    pub cumulative_gas_used: u64,
    /// Gas of this transaction.
    pub gas_used: u64,
    /// Sender of the transaction.
    pub from: Address,
    /// The contract that it created or tried to create.
    pub contract_address: Option<Address>,
    /// Logs of its contracts; none if it failed.
    pub logs: Vec<Log>,
    /// Root of the state after the transaction, which the consensus form has in place of the status before Byzantium;
    /// `None` from then on, and on the C-Chain.
    pub state_root: Option<B256>,
}

impl Receipt {
    /// The bloom filter of the logs.
    pub fn bloom(&self) -> Bloom {
        logs_bloom(&self.logs)
    }

    /// Writes the consensus form with the type byte, for the receipts root.
    pub fn encode_consensus(&self, out: &mut dyn BufMut) {
        if self.tx_type != 0 {
            out.put_u8(self.tx_type);
        }
        let status = match self.state_root {
            Some(root) => Eip658Value::PostState(root),
            None => Eip658Value::Eip658(self.success),
        };
        let receipt = EthReceipt {
            status,
            cumulative_gas_used: self.cumulative_gas_used,
            logs: self.logs.clone(),
        };
        let with_bloom = ReceiptWithBloom { logs_bloom: self.bloom(), receipt };
        with_bloom.receipt.rlp_encode_with_bloom(&with_bloom.logs_bloom, out);
    }
}

/// Root of a block's receipts.
pub fn receipts_root(receipts: &[Receipt]) -> B256 {
    ordered_trie_root_with_encoder(receipts, |receipt, out| receipt.encode_consensus(out))
}

/// The bloom filter of a block.
pub fn block_bloom(receipts: &[Receipt]) -> Bloom {
    logs_bloom(receipts.iter().flat_map(|receipt| &receipt.logs))
}

/// All receipts of a block as one row: RLP without blooms and without the gas of each transaction, which is the
/// difference of the sums. A state root is only there if the receipt has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredReceipts(pub Vec<Receipt>);

#[derive(RlpEncodable, RlpDecodable)]
#[rlp(trailing)]
struct StoredReceipt {
    tx_type: u8,
    success: bool,
    cumulative_gas_used: u64,
    from: Address,
    /// Empty or one address.
    contract_address: Vec<Address>,
    logs: Vec<Log>,
    state_root: Option<B256>,
}

impl ValueCodec for StoredReceipts {
    fn encode_value(&self, out: &mut Vec<u8>) {
        let rows: Vec<StoredReceipt> = self.0.iter().map(StoredReceipt::from).collect();
        alloy_rlp::encode_list(&rows, out);
    }

    fn decode_value(mut bytes: &[u8]) -> Option<Self> {
        let rows = Vec::<StoredReceipt>::decode(&mut bytes).ok()?;
        let mut before = 0;
        let mut receipts = Vec::with_capacity(rows.len());
        for row in rows {
            let gas_used = row.cumulative_gas_used.checked_sub(before)?;
            before = row.cumulative_gas_used;
            let contract_address = match row.contract_address[..] {
                [] => None,
                [address] => Some(address),
                _ => return None,
            };
            receipts.push(Receipt {
                tx_type: row.tx_type,
                success: row.success,
                cumulative_gas_used: row.cumulative_gas_used,
                gas_used,
                from: row.from,
                contract_address,
                logs: row.logs,
                state_root: row.state_root,
            });
        }
        bytes.is_empty().then_some(Self(receipts))
    }
}

impl From<&Receipt> for StoredReceipt {
    fn from(receipt: &Receipt) -> Self {
        Self {
            tx_type: receipt.tx_type,
            success: receipt.success,
            cumulative_gas_used: receipt.cumulative_gas_used,
            from: receipt.from,
            contract_address: receipt.contract_address.into_iter().collect(),
            logs: receipt.logs.clone(),
            state_root: receipt.state_root,
        }
    }
}
