//! Runs state tests.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use alloy_eips::eip4844::fake_exponential;
use alloy_primitives::{B256, Log, U256, keccak256};
use esker_evm_execution::executor::{
    BlockContext, Bounds, CodeCache, MachineParams, Message, Runner, StateOverlay, TxError,
};
use esker_evm_execution::rules::{BlobLimits, ExecutionRules, Revision};
use esker_evm_state::state::{StateChanges, StateError, StateVersion, StateView};
use esker_primitives::Id;

use crate::forks;
use crate::json::{Config, Env, Post, Test};
use crate::outcome::{CaseResult, Failure, FileError, Refusal};
use crate::pre_state::{EMPTY, PreState, SCOPE};
use crate::text::{TextError, address, bytes, number, optional, short, word};
use crate::transaction::{from_bytes, from_fields};

/// Base fee of a block that names none, wei.
const USUAL_BASE_FEE: u64 = 10;

/// Runs the state tests of a file.
pub fn run_file(path: &Path) -> Result<Vec<CaseResult>, FileError> {
    run(&std::fs::read(path)?)
}

/// Runs the state tests of a file with this content.
pub fn run(json: &[u8]) -> Result<Vec<CaseResult>, FileError> {
    let tests: BTreeMap<String, Test> = serde_json::from_slice(json)?;
    let mut results = Vec::new();
    for (name, test) in &tests {
        for (fork, posts) in &test.post {
            results.extend(posts.iter().map(|post| {
                let indexes = (post.indexes.data, post.indexes.gas, post.indexes.value);
                let outcome = run_case(test, fork, post);
                CaseResult { name: name.clone(), fork: fork.clone(), indexes, outcome }
            }));
        }
    }
    Ok(results)
}

fn run_case(test: &Test, fork: &str, post: &Post) -> Result<(), Failure> {
    let known = forks::fork(fork).ok_or_else(|| Failure::Fork(fork.to_owned()))?;
    let rules = forks::rules(known, blob_limits(&test.config, fork)?);
    let chain_id = test.config.chainid.as_deref().map(|text| short("chainid", text));
    let chain_id = chain_id.transpose()?.unwrap_or(1);
    let block = block(&test.env, rules)?;
    let message = match &post.txbytes {
        Some(text) => from_bytes(&rules, chain_id, &bytes("txbytes", text)?),
        None => from_fields(&rules, &test.transaction, post.indexes)?,
    };
    let pre = PreState::new(&test.pre)?;
    let reader = pre.reader()?;
    let view = StateView::new(&*reader, SCOPE, StateVersion::Latest);
    let executed = message.and_then(|message| execute(&chain(chain_id), &block, view, &message));
    match (executed, &post.expect_exception) {
        (Err(Refusal::Execution(TxError::State(error))), _) => Err(Failure::State(error)),
        (Err(_), Some(_)) => Ok(()),
        (Err(refusal), None) => Err(Failure::Refused(refusal)),
        (Ok(_), Some(expected)) => Err(Failure::Executed(expected.clone())),
        (Ok((changes, logs)), None) => check(&pre, &changes, &logs, post),
    }
}

/// Compares root and logs.
fn check(
    pre: &PreState,
    changes: &StateChanges,
    logs: &Vec<Log>,
    post: &Post,
) -> Result<(), Failure> {
    let (got, want) = (pre.root_after(changes)?, word("hash", &post.hash)?);
    if got != want {
        return Err(Failure::Root { got, want });
    }
    let (got, want) = (keccak256(alloy_rlp::encode(logs)), word("logs", &post.logs)?);
    if got != want {
        return Err(Failure::Logs { got, want });
    }
    Ok(())
}

/// Executes a transaction. Returns the changes and the logs.
fn execute(
    chain: &MachineParams,
    block: &BlockContext,
    view: StateView<'_>,
    message: &Message,
) -> Result<(StateChanges, Vec<Log>), Refusal> {
    let state = StateOverlay::new(view, &block_hash, chain.codes.clone());
    let mut runner = Runner::new(chain, state, block, Bounds::default());
    if message.gas_limit > block.gas_limit {
        return Err(TxError::GasLimitReached.into());
    }
    let ended = runner.run(block, message)?;
    runner.commit().map_err(TxError::State)?;
    touch(&mut runner, block).map_err(TxError::State)?;
    Ok((runner.state().changes(), ended.logs))
}

/// Gives the coinbase its reward, which is 0: before EIP-161 it then exists.
fn touch(runner: &mut Runner<'_>, block: &BlockContext) -> Result<(), StateError> {
    let state = runner.state();
    if block.rules.revision < Revision::SpuriousDragon && state.account(block.coinbase)?.is_none() {
        state.set_account(block.coinbase, EMPTY)?;
    }
    Ok(())
}

/// The hashes of blocks in state tests.
fn block_hash(number: u64) -> Result<Option<B256>, StateError> {
    Ok(Some(keccak256(number.to_string())))
}

/// The parameters of a chain with this ID.
fn chain(chain_id: u64) -> MachineParams {
    let codes = Arc::new(CodeCache::default());
    MachineParams {
        chain_id,
        has_control_values: false,
        network_id: 0,
        blockchain_id: Id::default(),
        codes,
    }
}

fn block(env: &Env, rules: ExecutionRules) -> Result<BlockContext, TextError> {
    let base_fee = optional("currentBaseFee", &env.current_base_fee)?;
    let random = optional("currentRandom", &env.current_random)?;
    let difficulty = optional("currentDifficulty", &env.current_difficulty)?;
    let excess = optional("currentExcessBlobGas", &env.current_excess_blob_gas)?;
    Ok(BlockContext {
        number: number("currentNumber", &env.current_number)?,
        time: short("currentTimestamp", &env.current_timestamp)?,
        gas_limit: short("currentGasLimit", &env.current_gas_limit)?,
        base_fee: match rules.revision >= Revision::London {
            true => base_fee.unwrap_or(U256::from(USUAL_BASE_FEE)),
            false => U256::ZERO,
        },
        coinbase: address("currentCoinbase", &env.current_coinbase)?,
        difficulty: match rules.revision >= Revision::Paris {
            true => random.unwrap_or_default(),
            false => difficulty.unwrap_or_default(),
        },
        blob_base_fee: blob_base_fee(&rules, excess.unwrap_or_default()),
        rules,
    })
}

fn blob_base_fee(rules: &ExecutionRules, excess: U256) -> U256 {
    let Some(limits) = rules.blobs else { return U256::ZERO };
    let fraction = u128::from(limits.update_fraction.max(1));
    U256::from(fake_exponential(1, excess.saturating_to(), fraction))
}

/// The limits of blobs that a test names for a fork.
fn blob_limits(config: &Config, fork: &str) -> Result<Option<BlobLimits>, TextError> {
    let Some(given) = config.blob_schedule.get(fork) else { return Ok(None) };
    Ok(Some(BlobLimits {
        target: short("target", &given.target)?,
        max: short("max", &given.max)?,
        update_fraction: short("baseFeeUpdateFraction", &given.base_fee_update_fraction)?,
        max_a_transaction: None,
    }))
}
