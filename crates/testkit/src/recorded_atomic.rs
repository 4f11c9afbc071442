//! The part of atomic transactions that a recorded chain needs (docs/protocol/atomic-transactions.md, "Ext data"), to
//! check that ext data is applied in the right order. The owners of imported outputs are taken from the recording.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, Signature, U256};
use esker_evm::extension::{BlockExtension, ExtBlock, ExtError};
use esker_evm_execution::executor::{ExtOutcome, StateOverlay, recover_signer};
use esker_evm_execution::rules::ExtSummary;
use esker_primitives::codec::{CodecError, Reader};
use esker_primitives::hash::sha256;
use esker_storage::{KvRead, PendingWrites};

const NATIVE: &str = "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe";
const MAX: usize = 256 * 1024;

#[derive(Debug)]
pub struct Input {
    id: B256,
    amount: u64,
    asset: B256,
}

#[derive(Debug)]
pub struct ExportInput {
    address: Address,
    amount: u64,
    asset: B256,
    nonce: u64,
}

#[derive(Debug)]
pub enum Tx {
    Import { inputs: Vec<Input>, outputs: Vec<(Address, u64, B256)> },
    Export { inputs: Vec<ExportInput>, burned_into: Vec<(B256, u64)> },
}

#[derive(Debug)]
pub struct SignedTx {
    tx: Tx,
    gas: u64,
    signers: Vec<Address>,
}

pub fn native() -> B256 {
    B256::new(*NATIVE.parse::<esker_primitives::Id>().unwrap().as_bytes())
}

fn address(r: &mut Reader<'_>) -> Result<Address, CodecError> {
    Ok(Address::new(r.fixed()?))
}

fn hash(r: &mut Reader<'_>) -> Result<B256, CodecError> {
    Ok(B256::new(r.fixed()?))
}

fn body(r: &mut Reader<'_>) -> Result<(Tx, u64), CodecError> {
    let is_import = r.u32()? == 0;
    r.u32()?;
    hash(r)?;
    hash(r)?;
    let mut signatures = 0;
    if is_import {
        let inputs = r.slice(|r| {
            let (tx, index) = (hash(r)?, r.u32()?);
            let asset = hash(r)?;
            r.u32()?;
            let amount = r.u64()?;
            signatures += r.slice(Reader::u32)?.len() as u64;
            let mut key = u64::from(index).to_be_bytes().to_vec();
            key.extend_from_slice(tx.as_slice());
            Ok(Input { id: B256::new(sha256(&key)), amount, asset })
        })?;
        let outputs = r.slice(|r| Ok((address(r)?, r.u64()?, hash(r)?)))?;
        return Ok((Tx::Import { inputs, outputs }, signatures * 1000));
    }
    let inputs = r.slice(|r| {
        let (address, amount) = (address(r)?, r.u64()?);
        Ok(ExportInput { address, amount, asset: hash(r)?, nonce: r.u64()? })
    })?;
    let burned_into = r.slice(|r| {
        let asset = hash(r)?;
        r.u32()?;
        let amount = r.u64()?;
        r.u64()?;
        r.u32()?;
        r.slice(address)?;
        Ok((asset, amount))
    })?;
    let gas = inputs.len() as u64 * 1000;
    Ok((Tx::Export { inputs, burned_into }, gas))
}

fn signed(r: &mut Reader<'_>) -> Result<SignedTx, CodecError> {
    let start = r.position();
    let (tx, gas) = body(r)?;
    let unsigned = [&[0, 0], r.since(start)].concat();
    let digest = B256::new(sha256(&unsigned));
    let signatures = r.slice(|r| {
        r.u32()?;
        r.slice(Reader::fixed::<65>)
    })?;
    let signers = signatures.into_iter().flatten().map(|signature| {
        let word = |at: usize| U256::from_be_slice(&signature[at..at + 32]);
        let signature = Signature::new(word(0), word(32), signature[64] == 1);
        recover_signer(&signature, &digest).unwrap_or_default()
    });
    Ok(SignedTx { tx, gas: gas + unsigned.len() as u64 + 10_000, signers: signers.collect() })
}

pub fn parse(ext_data: &[u8]) -> Result<Vec<SignedTx>, CodecError> {
    if ext_data.is_empty() {
        return Ok(Vec::new());
    }
    let mut r = Reader::versioned(ext_data, MAX)?;
    let txs = r.slice(signed)?;
    r.finish()?;
    Ok(txs)
}

/// The extension with the owners of imported outputs.
#[derive(Debug, Default)]
pub struct RecordedOwners {
    owners: BTreeMap<B256, Address>,
}

impl RecordedOwners {
    /// Reads the owners from accepted blocks.
    pub fn new<'a>(ext_data: impl Iterator<Item = &'a Bytes>) -> Self {
        let mut owners = BTreeMap::new();
        for signed in ext_data.flat_map(|bytes| parse(bytes).unwrap()) {
            if let Tx::Import { inputs, .. } = &signed.tx {
                owners.extend(inputs.iter().zip(&signed.signers).map(|(i, s)| (i.id, *s)));
            }
        }
        Self { owners }
    }
}

fn invalid<T>(text: impl Into<String>) -> Result<T, ExtError> {
    Err(ExtError::Invalid(text.into()))
}

fn decode(block: &ExtBlock<'_>) -> Result<Vec<SignedTx>, ExtError> {
    parse(block.ext_data)
        .or_else(|error| invalid(format!("failed to unmarshal atomic tx (AP5) due to {error}")))
}

impl BlockExtension for RecordedOwners {
    fn parse(&self, block: &ExtBlock<'_>) -> Result<ExtSummary, ExtError> {
        let txs = decode(block)?;
        let gas_used = txs.iter().map(|tx| tx.gas).sum();
        Ok(ExtSummary { transactions: txs.len(), gas_used })
    }

    fn check_inputs(&self, block: &ExtBlock<'_>, _: &dyn KvRead) -> Result<(), ExtError> {
        for signed in decode(block)? {
            if let Tx::Import { inputs, .. } = &signed.tx
                && let Some(input) = inputs.iter().find(|i| !self.owners.contains_key(&i.id))
            {
                return invalid(format!("missing UTXOs: {}", input.id));
            }
        }
        Ok(())
    }

    fn apply(
        &self,
        block: &ExtBlock<'_>,
        state: &mut StateOverlay<'_>,
        _: &mut PendingWrites<'_>,
    ) -> Result<ExtOutcome, ExtError> {
        let mut outcome = ExtOutcome::default();
        for SignedTx { tx, gas, signers } in decode(block)? {
            let native = native();
            let (mut consumed, mut produced) = (0, 0);
            match tx {
                Tx::Import { inputs, outputs } => {
                    for (input, signer) in inputs.iter().zip(&signers) {
                        if self.owners.get(&input.id) != Some(signer) {
                            return invalid("wrong signature");
                        }
                        consumed += if input.asset == native { input.amount } else { 0 };
                    }
                    for (to, amount, asset) in outputs {
                        if asset == native {
                            produced += amount;
                            let balance = state.balance(to)?;
                            state.set_balance(to, balance + wei(amount))?;
                        } else {
                            let held = state.asset_balance(to, asset)?;
                            state.set_asset_balance(to, asset, held + U256::from(amount))?;
                        }
                    }
                }
                Tx::Export { inputs, burned_into } => {
                    for (input, signer) in inputs.iter().zip(&signers) {
                        let ExportInput { address, amount, asset, nonce } = *input;
                        if address != *signer {
                            return invalid("signature doesn't match public key");
                        }
                        assert_eq!(asset, native, "only the native asset leaves since Banff");
                        consumed += amount;
                        let Some(rest) = state.balance(address)?.checked_sub(wei(amount)) else {
                            return invalid("insufficient funds");
                        };
                        if state.nonce(address)? != nonce {
                            return invalid("invalid nonce");
                        }
                        state.set_balance(address, rest)?;
                        state.set_nonce(address, nonce + 1)?;
                    }
                    produced += burned_into.iter().map(|(_, amount)| amount).sum::<u64>();
                }
            }
            let fee = (U256::from(gas) * block.base_fee).div_ceil(U256::from(1_000_000_000));
            let burned = U256::from(consumed - produced);
            outcome.gas_used += gas;
            outcome.contribution += (burned - fee) * U256::from(1_000_000_000);
        }
        Ok(outcome)
    }
}

fn wei(amount: u64) -> U256 {
    U256::from(amount) * U256::from(1_000_000_000)
}
