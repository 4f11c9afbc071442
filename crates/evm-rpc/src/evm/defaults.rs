//! Defaults for missing members of a transaction
//! (docs/protocol/c-chain-pool.md, "Defaults of node-built transactions").

use alloy_primitives::{Address, U256};
use esker_evm::oracle::next_base_fee;
use esker_evm_execution::call::CallRequest;
use esker_evm_execution::rules::Dialect;
use esker_rpc::{CallContext, RpcError};

use super::anvil_errors::is_of_execution;
use super::transact::TransactApi;
use crate::error::read_error;
use crate::wire::call::{AccessListArg, TransactionArgs};
use crate::wire::{Addr, Big, Data, Hash, Uint64};

/// Blobs of one transaction, at most.
pub(super) const MAX_BLOBS: usize = 6;

/// Gas of a call without a limit.
const UNLIMITED_GAS: u64 = u64::MAX / 2;

/// How missing gas is filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GasDefault {
    /// The gas that the transaction needs.
    Estimate,
    /// The gas that the transaction needs, and that of a block if it would fail.
    EstimateOrBlock,
    /// The gas limit of calls.
    Cap,
    /// The most that a transaction of the next block has.
    Block,
}

fn refused(text: impl Into<String>) -> RpcError {
    RpcError::new(text)
}

/// The call of a transaction.
pub(crate) fn request(args: &TransactionArgs, dialect: Dialect) -> Result<CallRequest, RpcError> {
    let big = |value: Option<Big>| value.map(|Big(value)| value);
    let hashes = args.blob_versioned_hashes.as_ref();
    let authorization_list = match dialect {
        Dialect::Standard => args.authorization_list.list().map_err(invalid_list)?,
        // A chain without set-code transactions ignores what they have.
        Dialect::Reference => None,
    };
    Ok(CallRequest {
        from: args.from.map(|Addr(from)| from),
        to: args.to.map(|Addr(to)| to),
        gas: args.gas.map(|Uint64(gas)| gas),
        gas_price: big(args.gas_price),
        max_fee_per_gas: big(args.max_fee_per_gas),
        max_priority_fee_per_gas: big(args.max_priority_fee_per_gas),
        value: big(args.value),
        input: args.payload(),
        access_list: args.access_list.as_ref().map(|AccessListArg(list)| list.clone()),
        blob_hashes: hashes.map(|hashes| hashes.iter().map(|Hash(hash)| *hash).collect()),
        max_fee_per_blob_gas: big(args.max_fee_per_blob_gas),
        nonce: args.nonce.map(|Uint64(nonce)| nonce),
        chain_id: args.chain_id.map(|Big(id)| id.saturating_to()),
        authorization_list,
    })
}

fn invalid_list(text: &str) -> RpcError {
    RpcError::with_code(RpcError::INVALID_PARAMS, format!("invalid argument 0: {text}"))
}

/// The sender; the zero address where none is given.
pub(super) fn sender(args: &TransactionArgs) -> Address {
    args.from.unwrap_or_default().0
}

impl TransactApi {
    /// Fills in missing members, and checks the others.
    pub(super) fn set_defaults(
        &self,
        args: &mut TransactionArgs,
        gas: GasDefault,
        context: &CallContext,
    ) -> Result<(), RpcError> {
        // Methods that send blobs have taken them before.
        if !args.blobs.is_empty() {
            return Err(refused("\"blobs\" is not supported for this RPC method"));
        }
        if args.authorization_list.is_given() && !self.reads.dialect().is_standard() {
            return Err(refused(
                "\"authorizationList\" is not supported: this chain has no set-code transactions (EIP-7702)",
            ));
        }
        check_set_code(args)?;
        self.set_fee_defaults(args, gas)?;
        args.value.get_or_insert_default();
        if args.nonce.is_none() {
            args.nonce = Some(Uint64(self.next_nonce(sender(args))?));
        }
        check_payload(args)?;
        if args.gas.is_none() {
            let gas = match gas {
                GasDefault::Estimate => self.estimate_for(args, context)?,
                GasDefault::EstimateOrBlock => match self.estimate_for(args, context) {
                    Ok(gas) => gas,
                    Err(error) if is_of_execution(&error) => self.most_gas()?,
                    Err(error) => return Err(error),
                },
                GasDefault::Cap if self.config.gas_cap == 0 => UNLIMITED_GAS,
                GasDefault::Cap => self.config.gas_cap,
                GasDefault::Block => self.most_gas()?,
            };
            args.gas = Some(Uint64(gas));
        }
        let want = U256::from(self.reads.chain.chain_id().map_err(read_error)?);
        let Big(have) = *args.chain_id.get_or_insert(Big(want));
        if have != want {
            return Err(refused(format!(
                "chainId does not match node's (have={have}, want={want})"
            )));
        }
        Ok(())
    }

    /// Fills in the sender where none is given: on a development network the first account that the node holds.
    pub(super) fn set_sender_default(&self, args: &mut TransactionArgs) {
        if args.from.is_none() && self.reads.config.is_development {
            args.from = self.accounts.accounts().first().copied().map(Addr);
        }
    }

    /// Fills in the tip, or the cap, with which the other one replaces the transaction that waits with the nonce of these
    /// arguments: the suggested one would be that of the transaction. Arguments without both replace nothing: two senders
    /// may have counted to the same nonce.
    pub(super) fn set_replacement_defaults(
        &self,
        args: &mut TransactionArgs,
    ) -> Result<(), RpcError> {
        let (Some(Uint64(nonce)), None) = (args.nonce, args.gas_price) else { return Ok(()) };
        if args.max_priority_fee_per_gas.is_none() && args.max_fee_per_gas.is_none() {
            return Ok(());
        }
        let Some(price) = self.reads.pool.replacement_price(sender(args), nonce) else {
            return Ok(());
        };
        if args.max_priority_fee_per_gas.is_none() {
            let tip = self.suggested()?.tip.max(U256::from(price.tip_cap));
            // A cap below it is refused as too low a price, not as one that contradicts itself.
            let cap = args.max_fee_per_gas.map_or(U256::MAX, |Big(cap)| cap);
            args.max_priority_fee_per_gas = Some(Big(tip.min(cap)));
        }
        if args.max_fee_per_gas.is_none() {
            let Big(tip) = args.max_priority_fee_per_gas.unwrap_or_default();
            let doubled = self.base_fee_to_double().saturating_mul(U256::from(2));
            let cap = doubled.saturating_add(tip).max(U256::from(price.fee_cap));
            args.max_fee_per_gas = Some(Big(cap));
        }
        Ok(())
    }

    /// The base fee for which a cap has room to double: that of the last block, and what a development node has set.
    fn base_fee_to_double(&self) -> U256 {
        let chain = &self.reads.chain;
        let last = chain.head().header.base_fee.unwrap_or_default();
        if !chain.has_pending() {
            return last;
        }
        let next = self.highest_next_base_fee();
        if chain.rules().sets_next_base_fee() { next } else { next.max(last) }
    }

    /// The base fee of a next block at this time, Unix s.
    fn next_base_fee(&self, time_s: u64) -> Option<U256> {
        let chain = &self.reads.chain;
        next_base_fee(chain.rules(), &chain.head().header, time_s)
    }

    /// The highest base fee, in wei, of a next block in this second or the one after it. After a block whose base fee was
    /// set below the least of the rules, the next second's is higher.
    pub(super) fn highest_next_base_fee(&self) -> U256 {
        let now_s = self.clock.now_s();
        let fees = [now_s, now_s.saturating_add(1)].map(|time_s| self.next_base_fee(time_s));
        fees.into_iter().flatten().max().unwrap_or_default()
    }

    /// Whether gas costs nothing in the next block, as it may on a development network.
    fn is_free(&self) -> bool {
        self.next_base_fee(self.clock.now_s()).is_some_and(|wei| wei.is_zero())
    }

    /// Fills in the fees, unless a price is there or both caps.
    fn set_fee_defaults(
        &self,
        args: &mut TransactionArgs,
        gas: GasDefault,
    ) -> Result<(), RpcError> {
        let is_zero = |fee: Option<Big>| fee.is_some_and(|Big(fee)| fee.is_zero());
        if is_zero(args.max_fee_per_blob_gas) {
            return Err(refused("maxFeePerBlobGas, if specified, must be non-zero"));
        }
        let (cap, tip) = (args.max_fee_per_gas, args.max_priority_fee_per_gas);
        if args.gas_price.is_some() && (cap.is_some() || tip.is_some()) {
            return Err(refused(
                "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified",
            ));
        }
        if args.gas_price.is_some() {
            return match is_zero(args.gas_price) && !self.is_free() {
                true => Err(refused("gasPrice must be non-zero after london fork")),
                false => Ok(()),
            };
        }
        if self.reads.dialect().is_standard() && self.next_base_fee(self.clock.now_s()).is_none() {
            return self.set_price_default(args);
        }
        if cap.is_some() && tip.is_some() && is_zero(cap) && !self.is_free() {
            return Err(refused("maxFeePerGas must be non-zero"));
        }
        let Big(tip) = match tip {
            Some(tip) => tip,
            None => Big(self.suggested_tip(cap, gas)?),
        };
        let Big(cap) = match cap {
            Some(cap) => cap,
            None => Big(self.suggested_cap(tip)?),
        };
        // Anvil completes such a transaction for its sender, too.
        let is_shown = self.reads.config.anvil_answers && gas == GasDefault::Estimate;
        if cap < tip && !is_shown {
            return Err(refused(format!(
                "maxFeePerGas ({cap:#x}) < maxPriorityFeePerGas ({tip:#x})"
            )));
        }
        args.max_fee_per_gas = Some(Big(cap));
        args.max_priority_fee_per_gas = Some(Big(tip));
        Ok(())
    }

    /// The tip of a transaction without one. On a development network the cap that is given leaves room for it, unless
    /// anvil only shows the transaction.
    fn suggested_tip(&self, cap: Option<Big>, gas: GasDefault) -> Result<U256, RpcError> {
        let tip = self.suggested()?.tip;
        let config = &self.reads.config;
        let is_shown = config.anvil_answers && gas == GasDefault::Estimate;
        let cap = cap.filter(|_| config.is_development && !is_shown);
        Ok(cap.map_or(tip, |Big(cap)| tip.min(cap)))
    }

    /// The cap of a transaction without one, which has this tip. Anvil's is the suggested price.
    fn suggested_cap(&self, tip: U256) -> Result<U256, RpcError> {
        if self.reads.config.anvil_answers {
            let price = self.highest_next_base_fee().saturating_add(self.suggested()?.tip);
            return Ok(price.max(tip));
        }
        Ok(self.base_fee_to_double().saturating_mul(U256::from(2)).saturating_add(tip))
    }

    /// How the gas of a transaction that is sent without any is filled in. Hardhat and anvil send one that fails, too.
    pub(super) fn gas_default(&self) -> GasDefault {
        match &self.reads.config {
            config if config.hardhat_answers => GasDefault::Block,
            config if config.anvil_answers => GasDefault::EstimateOrBlock,
            _ => GasDefault::Estimate,
        }
    }

    /// The most gas of a transaction in the next block.
    fn most_gas(&self) -> Result<u64, RpcError> {
        let chain = &self.reads.chain;
        let head = chain.head();
        let time = chain.rules().child_time(&head.header, self.clock.now_s());
        let terms =
            chain.rules().next_terms(&head.header, time).map_err(|e| refused(e.to_string()))?;
        Ok(terms.execution.max_tx_gas().unwrap_or(u64::MAX).min(terms.gas_limit))
    }

    /// Fills in the price in a block without a base fee.
    fn set_price_default(&self, args: &mut TransactionArgs) -> Result<(), RpcError> {
        if args.max_fee_per_gas.is_some() || args.max_priority_fee_per_gas.is_some() {
            return Err(refused(
                "maxFeePerGas and maxPriorityFeePerGas are not valid before London is active",
            ));
        }
        args.gas_price = Some(Big(self.suggested()?.gas_price()));
        Ok(())
    }

    fn estimate_for(&self, args: &TransactionArgs, context: &CallContext) -> Result<u64, RpcError> {
        let request = request(args, self.reads.dialect())?;
        let request = CallRequest { gas: None, nonce: None, chain_id: None, ..request };
        self.estimate_for_next(&request, context)
    }
}

/// Whether a set-code transaction can be made of arguments with authorizations; the texts are geth's.
fn check_set_code(args: &TransactionArgs) -> Result<(), RpcError> {
    let Some(list) = args.authorization_list.list().map_err(invalid_list)? else { return Ok(()) };
    if list.is_empty() {
        return Err(refused("set code tx must have at least one authorization tuple"));
    }
    match args.to {
        Some(_) => Ok(()),
        None => Err(refused("set code tx must not be a create transaction")),
    }
}

/// Whether there is code to run.
fn check_payload(args: &TransactionArgs) -> Result<(), RpcError> {
    if let (Some(Data(data)), Some(Data(input))) = (&args.data, &args.input)
        && data != input
    {
        return Err(refused(
            "both \"data\" and \"input\" are set and not equal. Please use \"input\" to pass transaction call data",
        ));
    }
    let blobs = args.blob_versioned_hashes.as_ref().map(Vec::len);
    match blobs {
        Some(0) => return Err(refused("need at least 1 blob for a blob transaction")),
        Some(have) if have > MAX_BLOBS => {
            return Err(refused(format!(
                "too many blobs in transaction (have={have}, max={MAX_BLOBS})"
            )));
        }
        Some(_) if args.to.is_none() => {
            return Err(refused("missing \"to\" in blob transaction"));
        }
        Some(_) | None => {}
    }
    if args.to.is_none() && args.payload().is_empty() {
        return Err(refused("contract creation without any data provided"));
    }
    Ok(())
}
