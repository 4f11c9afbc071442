//! Rules much like Ethereum's: four fields of an account, withdrawals, a reward, blocks without atomic transactions.

use alloy_consensus::{BlockBody, Header as EthHeader, proofs::calculate_withdrawals_root};
use alloy_eips::eip1559::BaseFeeParams;
use alloy_eips::eip4895::{Withdrawal, Withdrawals};
use alloy_primitives::{Address, B64, B256, U256};
use alloy_rlp::{Decodable, Encodable};
use alloy_trie::TrieAccount;
use esker_evm_execution::rules::{
    BlobLimits, BlockCheck, BlockCodec, BlockEnd, BlockPoint, BlockResults, BlockStepError,
    ChildTerms, ExecutionRules, ExtSummary, ForkConfig, ForkConfigs, GenesisTerms, HeaderRules,
    NativeAsset, NewBlock, Phase, RuleError, Rules, RunningBlock, StateRules, StorageKeys,
    SystemCalls, check_common_results,
};
use esker_evm_state::types::{
    Account, AccountCodec, Block, EMPTY_OMMERS_HASH, Header, Receipt, SealedHeader, Transaction,
};
use serde_json::value::RawValue;

pub(super) const CHAIN_ID: u64 = 77;
pub(super) const PROPOSER: Address = Address::repeat_byte(0x55);
pub(super) const VALIDATOR: Address = Address::repeat_byte(0x66);
pub(super) const WITHDRAWN_GWEI: u64 = 4;
/// Wei for each block.
pub(super) const REWARD: u64 = 1_000_000;

/// Limits of blobs, which only the pool knows.
const BLOBS: BlobLimits =
    BlobLimits { target: 3, max: 6, update_fraction: 3_338_477, max_a_transaction: None };

#[derive(Debug)]
pub(super) struct OtherRules;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refused(&'static str);

fn check(holds: bool, text: &'static str) -> Result<(), RuleError> {
    if holds { Ok(()) } else { Err(RuleError::new(Refused(text))) }
}

fn execution() -> ExecutionRules {
    ExecutionRules {
        native_asset: NativeAsset::Absent,
        warp: false,
        storage_keys: StorageKeys::Whole,
        reserves_addresses: false,
        blobs: Some(BLOBS),
        ..Phase::Durango.rules().execution
    }
}

/// The withdrawals of every block.
fn withdrawals() -> Vec<Withdrawal> {
    vec![Withdrawal { address: VALIDATOR, amount: WITHDRAWN_GWEI, ..Withdrawal::default() }]
}

fn to_eth(header: &Header) -> EthHeader {
    EthHeader {
        parent_hash: header.parent_hash,
        ommers_hash: header.ommers_hash,
        beneficiary: header.coinbase,
        state_root: header.state_root,
        transactions_root: header.transactions_root,
        receipts_root: header.receipts_root,
        logs_bloom: header.bloom,
        difficulty: header.difficulty,
        number: header.number,
        gas_limit: header.gas_limit,
        gas_used: header.gas_used,
        timestamp: header.time,
        extra_data: header.extra.clone(),
        mix_hash: header.mix_digest,
        nonce: header.nonce,
        base_fee_per_gas: header.base_fee.map(|wei| wei.saturating_to()),
        withdrawals_root: header.withdrawals_root,
        ..EthHeader::default()
    }
}

fn from_eth(eth: EthHeader) -> Header {
    Header {
        parent_hash: eth.parent_hash,
        ommers_hash: eth.ommers_hash,
        coinbase: eth.beneficiary,
        state_root: eth.state_root,
        transactions_root: eth.transactions_root,
        receipts_root: eth.receipts_root,
        bloom: eth.logs_bloom,
        difficulty: eth.difficulty,
        number: eth.number,
        gas_limit: eth.gas_limit,
        gas_used: eth.gas_used,
        time: eth.timestamp,
        extra: eth.extra_data,
        mix_digest: eth.mix_hash,
        nonce: eth.nonce,
        base_fee: eth.base_fee_per_gas.map(U256::from),
        withdrawals_root: eth.withdrawals_root,
        ..Header::default()
    }
}

type EthBlock = alloy_consensus::Block<Transaction>;

impl AccountCodec for OtherRules {
    fn encode_account(&self, account: &Account, out: &mut Vec<u8>) {
        let Account { nonce, balance, storage_root, code_hash, .. } = *account;
        TrieAccount { nonce, balance, storage_root, code_hash }.encode(out);
    }
}

impl BlockCodec for OtherRules {
    fn decode_block(&self, mut bytes: &[u8]) -> alloy_rlp::Result<Block> {
        let EthBlock { header, body } = EthBlock::decode(&mut bytes)?;
        Ok(Block {
            header: from_eth(header),
            transactions: body.transactions,
            withdrawals: body.withdrawals.map(|list| list.into_inner()),
            ..Block::default()
        })
    }

    fn decode_header_of(&self, block: &[u8]) -> alloy_rlp::Result<Header> {
        Ok(self.decode_block(block)?.header)
    }

    fn encode_block(&self, block: &Block) -> Vec<u8> {
        let body = BlockBody {
            transactions: block.transactions.clone(),
            ommers: Vec::new(),
            withdrawals: block.withdrawals.clone().map(Withdrawals::new),
        };
        alloy_rlp::encode(EthBlock { header: to_eth(&block.header), body })
    }

    fn encode_header(&self, header: &Header) -> Vec<u8> {
        alloy_rlp::encode(to_eth(header))
    }
}

impl HeaderRules for OtherRules {
    fn child_terms(&self, parent: &Header, time: u64) -> Result<ChildTerms, RuleError> {
        check(time > parent.time, "other header: time")?;
        let fee = parent.base_fee.unwrap_or_default().saturating_to();
        let next =
            BaseFeeParams::ethereum().next_block_base_fee(parent.gas_used, parent.gas_limit, fee);
        Ok(ChildTerms {
            execution: execution(),
            gas_limit: parent.gas_limit,
            capacity: None,
            base_fee: U256::from(next),
            min_base_fee: U256::ZERO,
            block_gas_cost: 0,
            ext_gas_limit: Some(0),
            coinbase: PROPOSER,
            random: B256::repeat_byte(0x11),
            difficulty: U256::ZERO,
            blob_base_fee: U256::ZERO,
            excess_blob_gas: None,
        })
    }

    fn difficulty_word(&self, header: &Header) -> U256 {
        header.mix_digest.into()
    }

    fn blob_base_fee(&self, _: &Header) -> U256 {
        U256::ZERO
    }

    fn genesis_block(&self, header: Header, given: &GenesisTerms) -> Block {
        let base_fee = Some(given.base_fee.unwrap_or_else(|| self.initial_base_fee()));
        let withdrawals_root = Some(calculate_withdrawals_root(&[]));
        let header = Header { base_fee, withdrawals_root, ..header };
        Block { header, withdrawals: Some(Vec::new()), ..Block::default() }
    }

    fn seal_block(
        &self,
        (parent, parent_hash): (&Header, B256),
        terms: &ChildTerms,
        new: NewBlock,
        results: &BlockResults,
    ) -> Result<Block, RuleError> {
        let withdrawals = new.attributes.withdrawals.unwrap_or_else(withdrawals);
        let header = Header {
            parent_hash,
            ommers_hash: EMPTY_OMMERS_HASH,
            coinbase: terms.coinbase,
            state_root: new.state_root,
            receipts_root: results.receipts_root,
            bloom: results.bloom,
            number: parent.number + 1,
            gas_limit: terms.gas_limit,
            gas_used: results.gas_used,
            time: new.time,
            mix_digest: terms.random,
            base_fee: Some(terms.base_fee),
            withdrawals_root: Some(calculate_withdrawals_root(&withdrawals)),
            ..Header::default()
        };
        let (transactions, withdrawals) = (new.transactions, Some(withdrawals));
        let mut block = Block { header, transactions, withdrawals, ..Block::default() };
        block.header.transactions_root = block.transactions_root();
        Ok(block)
    }

    fn check_block(&self, given: &BlockCheck<'_>) -> Result<(), RuleError> {
        let header = &given.block.header;
        if let Some(allowed) = given.now_s.map(|now_s| now_s + self.max_future_s())
            && header.time > allowed
        {
            return Err(RuleError::ahead_of_clock(Refused("later"), header.time, allowed));
        }
        check(header.transactions_root == given.transactions_root, "other body: transactions")?;
        check(header.nonce == B64::ZERO, "other header: nonce")?;
        self.check_body(given.block)
    }

    fn check_transactions(&self, _: &Block) -> Result<(), RuleError> {
        Ok(())
    }

    fn check_header(
        &self,
        _: &Header,
        terms: &ChildTerms,
        block: &Block,
        _: &ExtSummary,
    ) -> Result<(), RuleError> {
        let header = &block.header;
        check(header.difficulty == terms.difficulty, "other header: difficulty")?;
        check(header.gas_limit == terms.gas_limit, "other header: gas limit")?;
        check(header.base_fee == Some(terms.base_fee), "other header: base fee")
    }

    fn check_results(
        &self,
        header: &Header,
        _: &ChildTerms,
        results: &BlockResults,
    ) -> Result<(), RuleError> {
        check_common_results(header, results)
    }

    fn check_body(&self, block: &Block) -> Result<(), RuleError> {
        let root = block.withdrawals.as_deref().map(calculate_withdrawals_root);
        check(block.header.withdrawals_root == root, "other body: withdrawals")
    }
}

impl StateRules for OtherRules {
    fn end_block(
        &self,
        block: &RunningBlock<'_>,
        _: &[Receipt],
        calls: &mut dyn SystemCalls<'_>,
    ) -> Result<BlockEnd, BlockStepError> {
        let own = withdrawals();
        let state = calls.state();
        for withdrawal in block.withdrawals.unwrap_or(&own) {
            let balance = state.balance(withdrawal.address)?;
            state.set_balance(withdrawal.address, balance + withdrawal.amount_wei())?;
        }
        let balance = state.balance(block.coinbase)?;
        state.set_balance(block.coinbase, balance + U256::from(REWARD))?;
        Ok(BlockEnd::default())
    }
}

impl Rules for OtherRules {
    fn chain_id(&self) -> u64 {
        CHAIN_ID
    }

    fn execution_rules(&self, _: &BlockPoint) -> Result<ExecutionRules, RuleError> {
        Ok(execution())
    }

    fn call_rules(&self, _: &BlockPoint) -> ExecutionRules {
        execution()
    }

    fn storage_keys(&self) -> StorageKeys {
        StorageKeys::Whole
    }

    fn fee_recipient(&self) -> Address {
        PROPOSER
    }

    fn initial_base_fee(&self) -> U256 {
        U256::from(1_000_000_000)
    }

    fn block_interval_s(&self) -> u64 {
        12
    }

    fn max_future_s(&self) -> u64 {
        15
    }

    fn chain_config(&self) -> Box<RawValue> {
        RawValue::from_string("{\"chainId\":77}".to_owned()).unwrap()
    }

    fn forks(&self, _: &SealedHeader, _: &Header) -> ForkConfigs {
        let (precompiles, system_contracts) = (Vec::new(), Vec::new());
        let (activation_time, fork_hash) = (0, [0; 4]);
        let current =
            ForkConfig { activation_time, fork_hash, blobs: None, precompiles, system_contracts };
        ForkConfigs { current, next: None, last: None }
    }
}
