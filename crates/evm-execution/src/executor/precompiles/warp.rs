//! The warp precompile, in blocks without verified messages (docs/protocol/c-chain-execution.md, "Warp precompile").

use alloy_primitives::{Address, B256, Bytes, Log, LogData, U256, b256};
use esker_primitives::hash::sha256;
use revm::context_interface::JournalTr;
use revm::interpreter::{CallInputs, CallScheme};

use super::outcome::PrecompileOutcome;
use crate::executor::VmError;
use crate::executor::abi::{self, WORD};
use crate::executor::check::WARP;
use crate::executor::env::EvmContext;

const GET_BLOCKCHAIN_ID: [u8; 4] = [0x42, 0x13, 0xcf, 0x78];
const GET_VERIFIED_MESSAGE: [u8; 4] = [0x6f, 0x82, 0x53, 0x50];
const GET_VERIFIED_BLOCK_HASH: [u8; 4] = [0xce, 0x7f, 0x59, 0x29];
const SEND: [u8; 4] = [0xee, 0x5b, 0x48, 0xeb];

const READ_GAS: u64 = 2;
const SEND_GAS: u64 = 41_500;
const SEND_BYTE_GAS: u64 = 8;

/// SendWarpMessage(address indexed sender, bytes32 indexed messageID, bytes message)
const SENT: B256 = b256!("0x56600c567728a800c0aa927500f831cb451df66a7af570eb4df4dfbf4674887d");

/// Type number of a payload that a contract sends.
const ADDRESSED_CALL: u32 = 1;

pub(super) fn run(
    context: &mut EvmContext<'_>,
    inputs: &CallInputs,
    input: &Bytes,
) -> PrecompileOutcome {
    match answer(context, inputs, input) {
        Ok((gas, output)) => PrecompileOutcome::Done(gas, output.into()),
        Err(error) => PrecompileOutcome::Failed(error),
    }
}

fn failed<T>(text: String) -> Result<T, VmError> {
    Err(VmError::Precompile(text))
}

fn spend(gas: u64, cost: u64) -> Result<u64, VmError> {
    gas.checked_sub(cost).ok_or(VmError::OutOfGas)
}

fn answer(
    context: &mut EvmContext<'_>,
    inputs: &CallInputs,
    input: &Bytes,
) -> Result<(u64, Vec<u8>), VmError> {
    let Some((selector, arguments)) = input.split_first_chunk::<4>() else {
        let length = input.len();
        return failed(format!(
            "missing function selector to precompile - input length ({length})"
        ));
    };
    let gas = inputs.gas_limit;
    match *selector {
        GET_BLOCKCHAIN_ID => {
            Ok((spend(gas, READ_GAS)?, context.chain.chain.blockchain_id.as_bytes().to_vec()))
        }
        // (message (source chain, sender, payload), valid): nothing, false.
        GET_VERIFIED_MESSAGE => {
            let gas = spend(gas, READ_GAS)?;
            check_index(arguments)?;
            Ok((gas, words(&[0x40, 0, 0, 0, 0x60, 0])))
        }
        // (block hash (source chain, hash), valid): nothing, false.
        GET_VERIFIED_BLOCK_HASH => {
            let gas = spend(gas, READ_GAS)?;
            check_index(arguments)?;
            Ok((gas, words(&[0, 0, 0])))
        }
        SEND => {
            let gas = spend(gas, SEND_GAS)?;
            let gas = spend(gas, (arguments.len() as u64).saturating_mul(SEND_BYTE_GAS))?;
            if inputs.is_static {
                return Err(VmError::WriteProtection);
            }
            let payload = abi::bytes(arguments)
                .or_else(|error| failed(format!("invalid sendWarpMessage input: {error}")))?;
            Ok((gas, send(context, sender(inputs), payload).to_vec()))
        }
        _ => failed(format!("invalid function selector {}", Bytes::copy_from_slice(selector))),
    }
}

/// The contract in whose name the code runs.
fn sender(inputs: &CallInputs) -> Address {
    match inputs.scheme {
        CallScheme::DelegateCall => inputs.target_address,
        CallScheme::Call | CallScheme::CallCode | CallScheme::StaticCall => inputs.caller,
    }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| U256::from(*word).to_be_bytes::<WORD>()).collect()
}

fn check_index(arguments: &[u8]) -> Result<(), VmError> {
    let reason = match abi::uint32(arguments) {
        Ok(index) if i32::try_from(index).is_ok() => return Ok(()),
        Ok(_) => "larger than MaxInt32".to_owned(),
        Err(error) => error.to_string(),
    };
    failed(format!("invalid index to specify warp message: {reason}"))
}

/// Logs a message. Returns its ID.
fn send(context: &mut EvmContext<'_>, sender: Address, payload: &[u8]) -> B256 {
    let chain = &context.chain.chain;
    let mut call = Vec::with_capacity(34 + payload.len());
    call.extend_from_slice(&0u16.to_be_bytes());
    call.extend_from_slice(&ADDRESSED_CALL.to_be_bytes());
    put_bytes(&mut call, sender.as_slice());
    put_bytes(&mut call, payload);
    let mut message = Vec::with_capacity(42 + call.len());
    message.extend_from_slice(&0u16.to_be_bytes());
    message.extend_from_slice(&chain.network_id.to_be_bytes());
    message.extend_from_slice(chain.blockchain_id.as_bytes());
    put_bytes(&mut message, &call);
    let id = B256::from(sha256(&message));
    let mut data = words(&[WORD as u64, message.len() as u64]);
    data.extend_from_slice(&message);
    data.resize(data.len().next_multiple_of(WORD), 0);
    context.journaled_state.log(Log {
        address: WARP,
        data: LogData::new_unchecked(vec![SENT, sender.into_word(), id], data.into()),
    });
    id
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("gas keeps messages far below 4 GiB");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}
