//! Typed calls of an EVM chain.

use std::net::SocketAddr;

use alloy_primitives::{Address, B256, U256};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::quantity::{
    encode, encode_bytes, parse, parse_bytes, parse_fixed, parse_optional, parse_u64,
};
use crate::rpc::{CallError, RpcClient};

/// Calls of one EVM chain. State is read at the last accepted block.
#[derive(Debug)]
pub struct EvmClient {
    rpc: RpcClient,
    path: String,
}

/// A transaction that the node completes: what is missing it estimates or takes from the account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvmTx {
    /// The sender.
    pub from: Address,
    /// The account to call; none creates a contract.
    pub to: Option<Address>,
    /// Amount, wei.
    pub value: U256,
    /// Call data, or the creation code and its arguments.
    pub data: Vec<u8>,
    /// Limit of gas.
    pub gas: Option<u64>,
}

impl EvmTx {
    fn json(&self) -> Value {
        let mut tx = json!({
            "from": self.from.to_string(),
            "value": encode(self.value),
            "input": encode_bytes(&self.data),
        });
        if let Some(to) = self.to {
            tx["to"] = json!(to.to_string());
        }
        if let Some(gas) = self.gas {
            tx["gas"] = json!(encode(U256::from(gas)));
        }
        tx
    }
}

/// The outcome of a transaction in an accepted block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The transaction.
    pub tx_hash: B256,
    /// Number of its block.
    pub block_number: u64,
    /// Whether it took effect; it was reverted otherwise.
    pub is_success: bool,
    /// Gas that it used.
    pub gas_used: u64,
    /// The contract that it created.
    pub contract: Option<Address>,
    /// Its logs, in their order.
    pub logs: Vec<Log>,
}

/// A log of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The contract.
    pub address: Address,
    /// At most four topics; the first is usually the hash of the event's signature.
    pub topics: Vec<B256>,
    /// Data.
    pub data: Vec<u8>,
}

impl EvmClient {
    /// A client of the chain with that alias or blockchain ID; nothing is sent yet.
    pub fn new(address: SocketAddr, alias_or_id: &str) -> Self {
        Self::over(RpcClient::new(address), alias_or_id)
    }

    /// A client of that chain over another client.
    pub fn over(rpc: RpcClient, alias_or_id: &str) -> Self {
        Self { rpc, path: format!("/ext/bc/{alias_or_id}/rpc") }
    }

    /// Calls any method of the chain's endpoint.
    pub fn call<R: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<R, CallError> {
        self.rpc.call(&self.path, method, params)
    }

    /// ID of the chain that transactions are signed for.
    pub fn chain_id(&mut self) -> Result<u64, CallError> {
        parse_u64(&self.value("evm_chainId", json!([]))?)
    }

    /// Number of the last accepted block.
    pub fn block_number(&mut self) -> Result<u64, CallError> {
        parse_u64(&self.value("evm_blockNumber", json!([]))?)
    }

    /// Balance of an account, wei.
    pub fn balance(&mut self, account: Address) -> Result<U256, CallError> {
        parse(&self.value("evm_getBalance", json!([account.to_string(), "latest"]))?)
    }

    /// Nonce of an account's next transaction, with those that wait in the pool.
    pub fn next_nonce(&mut self, account: Address) -> Result<u64, CallError> {
        parse_u64(&self.value("evm_getTransactionCount", json!([account.to_string(), "pending"]))?)
    }

    /// Code of an account; empty where there is none.
    pub fn code(&mut self, account: Address) -> Result<Vec<u8>, CallError> {
        parse_bytes(&self.value("evm_getCode", json!([account.to_string(), "latest"]))?)
    }

    /// A slot of a contract's storage.
    pub fn storage(&mut self, contract: Address, slot: U256) -> Result<B256, CallError> {
        let params = json!([contract.to_string(), encode(slot), "latest"]);
        parse_fixed(&self.value("evm_getStorageAt", params)?)
    }

    /// Runs a transaction without making one; the returned data. A revert is [`CallError::Rpc`].
    pub fn simulate(&mut self, tx: &EvmTx) -> Result<Vec<u8>, CallError> {
        parse_bytes(&self.value("evm_call", json!([tx.json(), "latest"]))?)
    }

    /// Sends a transaction that the node signs: of an account whose key it holds, or an impersonated one.
    pub fn send(&mut self, tx: &EvmTx) -> Result<B256, CallError> {
        parse_fixed(&self.value("evm_sendTransaction", json!([tx.json()]))?)
    }

    /// Sends a signed transaction.
    pub fn send_raw(&mut self, tx: &[u8]) -> Result<B256, CallError> {
        parse_fixed(&self.value("evm_sendRawTransaction", json!([encode_bytes(tx)]))?)
    }

    /// The receipt of a transaction; none while no accepted block has it.
    pub fn receipt(&mut self, tx: B256) -> Result<Option<Receipt>, CallError> {
        let reply = self.value("evm_getTransactionReceipt", json!([tx.to_string()]))?;
        if reply.is_null() { Ok(None) } else { receipt(&reply).map(Some) }
    }

    fn value(&mut self, method: &str, params: Value) -> Result<Value, CallError> {
        self.call(method, params)
    }
}

fn receipt(reply: &Value) -> Result<Receipt, CallError> {
    Ok(Receipt {
        tx_hash: parse_fixed(&reply["transactionHash"])?,
        block_number: parse_u64(&reply["blockNumber"])?,
        is_success: parse_u64(&reply["status"])? == 1,
        gas_used: parse_u64(&reply["gasUsed"])?,
        contract: parse_optional(&reply["contractAddress"])?,
        logs: list(&reply["logs"])?.iter().map(log).collect::<Result<_, _>>()?,
    })
}

fn log(reply: &Value) -> Result<Log, CallError> {
    Ok(Log {
        address: parse_fixed(&reply["address"])?,
        topics: list(&reply["topics"])?.iter().map(parse_fixed).collect::<Result<_, _>>()?,
        data: parse_bytes(&reply["data"])?,
    })
}

fn list(value: &Value) -> Result<&[Value], CallError> {
    let list = value.as_array().map(Vec::as_slice);
    list.ok_or_else(|| CallError::Unexpected(format!("expected a list: {value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts() {
        let word = format!("0x{:064x}", 7);
        let mut reply = json!({
            "transactionHash": word,
            "blockNumber": "0x2",
            "status": "0x1",
            "gasUsed": "0x5208",
            "contractAddress": null,
            "logs": [{
                "address": "0x00000000000000000000000000000000000000a1",
                "topics": [word],
                "data": "0x01",
            }],
        });
        let read = receipt(&reply).unwrap();
        assert!(read.is_success && read.contract.is_none());
        assert_eq!((read.block_number, read.gas_used), (2, 21_000));
        assert_eq!(
            (read.logs[0].topics[0], read.logs[0].data.as_slice()),
            (read.tx_hash, &[1][..])
        );
        reply["logs"] = json!(null);
        assert!(matches!(receipt(&reply), Err(CallError::Unexpected(_))));
    }

    #[test]
    fn transactions() {
        let tx = EvmTx { value: U256::from(16), ..EvmTx::default() };
        assert_eq!(
            tx.json(),
            json!({"from": Address::ZERO.to_string(), "value": "0x10", "input": "0x"})
        );
        let call = EvmTx { to: Some(Address::ZERO), gas: Some(255), data: vec![1], ..tx };
        assert_eq!(call.json()["gas"], "0xff");
        assert_eq!(call.json()["input"], "0x01");
        assert_eq!(call.json()["to"], Address::ZERO.to_string());
    }
}
