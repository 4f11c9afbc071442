//! Typed calls of the controls that `esker dev` has.

use std::fmt;
use std::net::SocketAddr;

use alloy_primitives::{Address, B256, U256};
use serde_json::{Value, json};

use crate::quantity::{encode, encode_bytes};
use crate::rpc::{CallError, RpcClient};

const X_PATH: &str = "/ext/bc/X";
const C_PATH: &str = "/ext/bc/C/rpc";

/// A snapshot of all chains of a development node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotId(String);

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Controls of a development node. Other nodes refuse each of them with [`CallError::Rpc`].
#[derive(Debug)]
pub struct DevClient(RpcClient);

impl DevClient {
    /// A client of the node at `address`; nothing is sent yet.
    pub fn new(address: SocketAddr) -> Self {
        Self(RpcClient::new(address))
    }

    /// Takes a snapshot of all chains, their pools and the clock.
    pub fn snapshot(&mut self) -> Result<SnapshotId, CallError> {
        let reply = self.on_x("snapshot", json!({}))?;
        Ok(SnapshotId(text(&reply, "id")?.to_owned()))
    }

    /// Goes back to a snapshot, which is then gone with all later ones. False if there is none of this ID any more.
    pub fn revert(&mut self, id: &SnapshotId) -> Result<bool, CallError> {
        let reply = self.on_x("revert", json!({ "id": id.0 }))?;
        reply["success"].as_bool().ok_or_else(|| CallError::Unexpected(reply.to_string()))
    }

    /// Goes back to the state in which the node became ready; all snapshots are gone.
    pub fn reset(&mut self) -> Result<(), CallError> {
        self.on_x("reset", json!({})).map(drop)
    }

    /// Makes blocks on the C-Chain, also empty ones: the first `interval_s` seconds later than it would be,
    /// each further one `interval_s` seconds later than the one before.
    pub fn mine(&mut self, blocks: u64, interval_s: u64) -> Result<(), CallError> {
        let params = json!({ "blocks": blocks.to_string(), "interval": interval_s.to_string() });
        self.on_x("mine", params).map(drop)
    }

    /// Lets the node sign for an address of the chains of UTXOs without its key: methods that use keys then work without a
    /// user. The address in the form of the network.
    pub fn impersonate_address(&mut self, address: &str) -> Result<String, CallError> {
        let reply = self.on_x("impersonateAddress", json!({ "address": address }))?;
        Ok(text(&reply, "address")?.to_owned())
    }

    /// Ends [`Self::impersonate_address`].
    pub fn stop_impersonating_address(&mut self, address: &str) -> Result<(), CallError> {
        self.on_x("stopImpersonatingAddress", json!({ "address": address })).map(drop)
    }

    /// The clock of all chains, Unix seconds.
    pub fn time(&mut self) -> Result<u64, CallError> {
        timestamp(&self.on_x("getTime", json!({}))?)
    }

    /// Moves the clock forward; the new time, Unix seconds.
    pub fn increase_time(&mut self, seconds: u64) -> Result<u64, CallError> {
        timestamp(&self.on_x("increaseTime", json!({ "seconds": seconds.to_string() }))?)
    }

    /// Sets the clock, Unix seconds, which runs on from there; the new time. Not before the last block of any chain.
    pub fn set_time(&mut self, time_s: u64) -> Result<u64, CallError> {
        timestamp(&self.on_x("setTime", json!({ "timestamp": time_s.to_string() }))?)
    }

    /// Sets the time of the next block of the C-Chain, Unix seconds.
    pub fn set_next_block_time(&mut self, time_s: u64) -> Result<(), CallError> {
        self.on_c("evm_setNextBlockTimestamp", json!([time_s]))
    }

    /// Whether a waiting transaction causes a block of the C-Chain by itself.
    pub fn set_automine(&mut self, is_on: bool) -> Result<(), CallError> {
        self.on_c("evm_setAutomine", json!([is_on]))
    }

    /// Sets a balance on the C-Chain, in wei.
    pub fn set_balance(&mut self, account: Address, wei: U256) -> Result<(), CallError> {
        self.on_c("anvil_setBalance", json!([account.to_string(), encode(wei)]))
    }

    /// Adds to a balance on the C-Chain, in wei.
    pub fn add_balance(&mut self, account: Address, wei: U256) -> Result<(), CallError> {
        self.on_c("anvil_addBalance", json!([account.to_string(), encode(wei)]))
    }

    /// Sets the nonce of an account of the C-Chain.
    pub fn set_nonce(&mut self, account: Address, nonce: u64) -> Result<(), CallError> {
        self.on_c("anvil_setNonce", json!([account.to_string(), encode(U256::from(nonce))]))
    }

    /// Sets the code of an account of the C-Chain.
    pub fn set_code(&mut self, account: Address, code: &[u8]) -> Result<(), CallError> {
        self.on_c("anvil_setCode", json!([account.to_string(), encode_bytes(code)]))
    }

    /// Sets a slot of a contract's storage.
    pub fn set_storage(
        &mut self,
        contract: Address,
        slot: U256,
        value: B256,
    ) -> Result<(), CallError> {
        let params = json!([contract.to_string(), encode(slot), value.to_string()]);
        self.on_c("anvil_setStorageAt", params)
    }

    /// Sets the chain ID of the C-Chain for all further blocks.
    pub fn set_chain_id(&mut self, chain_id: u64) -> Result<(), CallError> {
        self.on_c("anvil_setChainId", json!([chain_id]))
    }

    /// Sets the address that the C-Chain's contract for signatures (ECRECOVER) recovers from a signature, r, s and v,
    /// whatever was signed.
    pub fn impersonate_signature(
        &mut self,
        signature: &[u8; 65],
        signer: Address,
    ) -> Result<(), CallError> {
        let arguments = json!([encode_bytes(signature), signer.to_string()]);
        self.on_c("anvil_impersonateSignature", arguments)
    }

    /// Lets the node send transactions of an account whose key it does not hold.
    pub fn impersonate(&mut self, account: Address) -> Result<(), CallError> {
        self.on_c("anvil_impersonateAccount", json!([account.to_string()]))
    }

    /// Ends [`Self::impersonate`].
    pub fn stop_impersonating(&mut self, account: Address) -> Result<(), CallError> {
        self.on_c("anvil_stopImpersonatingAccount", json!([account.to_string()]))
    }

    fn on_x(&mut self, method: &str, params: Value) -> Result<Value, CallError> {
        self.0.call(X_PATH, &format!("dev.{method}"), params)
    }

    fn on_c(&mut self, method: &str, params: Value) -> Result<(), CallError> {
        self.0.call::<Value>(C_PATH, method, params).map(drop)
    }
}

fn text<'a>(reply: &'a Value, member: &str) -> Result<&'a str, CallError> {
    reply[member].as_str().ok_or_else(|| CallError::Unexpected(format!("no {member}: {reply}")))
}

fn timestamp(reply: &Value) -> Result<u64, CallError> {
    let text = text(reply, "timestamp")?;
    text.parse().map_err(|_| CallError::Unexpected(format!("no time: {reply}")))
}
