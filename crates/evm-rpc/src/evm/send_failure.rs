//! Sends whose transaction is in a block and failed there: Hardhat expects an error, as its own node gives it
//! (docs/decisions.md, "Answers of development networks").

use std::sync::Arc;

use alloy_primitives::{B256, Bytes};
use esker_artifacts::Decoded;
use esker_evm::runs::{SentTx, custom_error_text, in_transaction, revert_data_text};
use esker_evm_execution::call::RevertReason;
use esker_evm_execution::executor::{ExecutionEnd, VmError};
use esker_rpc::{CallContext, Caller, ReplyAfter, ReplyWait, RpcError, off_thread_restartable};

use serde::Serialize;

use super::outcome::failed_end;
use super::running::REVERTED;
use super::transact::TransactApi;
use crate::wire::{Data, Hash};

impl TransactApi {
    /// The answer to a send: its hash, or the error of a transaction that is in a block once `sent` has waited for it, and
    /// failed there.
    pub(crate) fn or_failure(
        self: &Arc<Self>,
        sent: ReplyAfter<Hash>,
        context: &CallContext,
    ) -> ReplyAfter<Hash> {
        context.notes().set(SentTx(sent.reply.0));
        if !self.config.failed_sends.is_error_to(context.caller()) {
            return sent;
        }
        let ReplyAfter { reply: Hash(hash), wait } = sent;
        let caller = Caller { request: None, ..context.caller().clone() };
        let transact = Arc::clone(self);
        let verdict = async move {
            if let Some(wait) = wait {
                wait.over().await?;
            }
            let look = move |context: &CallContext| transact.failure_of(hash, context);
            match off_thread_restartable(&caller, look).await {
                Ok(Some(failure)) => Err(failure),
                // The transaction is in the pool or in a block, so its hash is valid.
                Ok(None) | Err(_) => Ok(()),
            }
        };
        ReplyAfter { reply: Hash(hash), wait: Some(ReplyWait::Verdict(Box::pin(verdict))) }
    }

    /// The error of a transaction that is in a block and failed; `None` also if its end can't be found out.
    fn failure_of(&self, hash: B256, context: &CallContext) -> Option<RpcError> {
        match failed_end(self, hash, context) {
            Ok(ended) => {
                let ended = ended?;
                match self.reads.config.hardhat_answers {
                    true => self.hardhat_failure(ended.error.as_ref(), &ended.output, Some(hash)),
                    false => failure(&ended, |data| self.custom_error(data)),
                }
            }
            Err(error) => {
                tracing::debug!(%hash, %error, "cannot find out how a transaction ended");
                None
            }
        }
    }
}

/// What Hardhat's node says of a failure besides its code and text.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HardhatFailure<'a> {
    message: &'a str,
    /// Of a transaction that is in a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    tx_hash: Option<Hash>,
    data: Data,
}

impl TransactApi {
    /// The error of code that ended so, as Hardhat's node has it; `None`: it did not fail.
    pub(super) fn hardhat_failure(
        &self,
        error: Option<&VmError>,
        output: &Bytes,
        hash: Option<B256>,
    ) -> Option<RpcError> {
        let (code, text) = match error? {
            VmError::Reverted => {
                let text = match self.custom_error(output) {
                    Some(error) => custom_error_text(error),
                    None => revert_text(output),
                };
                (RpcError::INTERNAL, format!("Error: {text}"))
            }
            VmError::OutOfGas => (RpcError::SERVER, "Transaction ran out of gas".to_owned()),
            error => (RpcError::INTERNAL, format!("Error: {}", in_transaction(&error.to_string()))),
        };
        let data = Data(if *error? == VmError::Reverted { output.clone() } else { Bytes::new() });
        let failure = HardhatFailure { message: &text, tx_hash: hash.map(Hash), data };
        Some(RpcError::with_code(code, text.as_str()).with_data(&failure))
    }
}

/// The error of a transaction that ended so; `None`: it did not fail. `data` is there in any case, since tools take an error
/// without it for one of the connection.
fn failure(
    ended: &ExecutionEnd,
    custom_error: impl Fn(&[u8]) -> Option<Decoded>,
) -> Option<RpcError> {
    let (code, text, data) = match ended.error.as_ref()? {
        VmError::Reverted => {
            let text = match custom_error(&ended.output) {
                Some(error) => custom_error_text(error),
                None => revert_text(&ended.output),
            };
            (REVERTED, text, ended.output.clone())
        }
        error => (RpcError::SERVER, in_transaction(&error.to_string()), Default::default()),
    };
    Some(RpcError::with_code(code, text).with_data(&Data(data)))
}

/// The texts of Hardhat's node, which tools for it search for reasons.
fn revert_text(data: &[u8]) -> String {
    match RevertReason::parse(data) {
        Some(RevertReason::Text(reason)) => {
            in_transaction(&format!("reverted with reason string '{reason}'"))
        }
        None if data.is_empty() => "Transaction reverted without a reason string".to_owned(),
        Some(RevertReason::Panic(_)) | None => revert_data_text(data, data.len()),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Bytes, hex};
    use esker_artifacts::Registry;
    use serde_json::{Value, json};

    use super::*;

    /// An `Error(string)` or a `Panic(uint256)` of these words.
    fn words(selector: &str, words: &[&str]) -> Vec<u8> {
        let padded = words.iter().map(|word| format!("{word:0>64}")).collect::<String>();
        hex::decode(format!("{selector}{padded}")).unwrap()
    }

    fn error_of(error: VmError, output: Vec<u8>) -> (i64, String, Value) {
        let output = Bytes::from(output);
        let ended =
            ExecutionEnd { error: Some(error), gas_used: 1, max_gas_used: 1, output, logs: vec![] };
        let known = Registry::default();
        let RpcError { code, message, data, .. } =
            failure(&ended, |data| known.error(data)).unwrap();
        (code, message, serde_json::from_str(data.unwrap().get()).unwrap())
    }

    #[test]
    fn failures_have_the_texts_of_hardhats_node() {
        let closed = format!("{:0<64}", hex::encode("closed"));
        for (output, expected) in [
            (
                words("08c379a0", &["20", "6", &closed]),
                "VM Exception while processing transaction: reverted with reason string 'closed'",
            ),
            (
                words("4e487b71", &["11"]),
                "VM Exception while processing transaction: reverted with panic code 0x11 \
                 (arithmetic underflow or overflow)",
            ),
            (
                words("4e487b71", &["ff"]),
                "VM Exception while processing transaction: reverted with panic code 0xff (unknown)",
            ),
            (
                words("e450d38c", &["3", "4", "5"]),
                "VM Exception while processing transaction: reverted with custom error \
                 'ERC20InsufficientBalance(0x0000000000000000000000000000000000000003, 4, 5)'",
            ),
            (
                vec![0xde, 0xad, 0xbe, 0xef],
                "VM Exception while processing transaction: reverted with an unrecognized custom error \
                 (return data: 0xdeadbeef)",
            ),
            // An `Error(string)` that breaks off.
            (
                words("08c379a0", &["20"]),
                "VM Exception while processing transaction: reverted with an unrecognized custom error \
                 (return data: 0x08c379a00000000000000000000000000000000000000000000000000000000000000020)",
            ),
            (vec![], "Transaction reverted without a reason string"),
        ] {
            let data = json!(hex::encode_prefixed(&output));
            assert_eq!(error_of(VmError::Reverted, output), (3, expected.to_owned(), data));
        }
        let (_, text, data) = error_of(VmError::Reverted, vec![7; 5000]);
        assert!(text.ends_with("07...)") && text.len() < 2200, "{text}");
        assert_eq!(data.as_str().unwrap().len(), 2 + 2 * 5000);
    }

    #[test]
    fn other_failures_have_data_too() {
        let text = |what| format!("VM Exception while processing transaction: {what}");
        for (error, expected) in [
            (VmError::OutOfGas, "out of gas"),
            (VmError::InvalidOpcode(0xfe), "invalid opcode: INVALID"),
        ] {
            assert_eq!(error_of(error, vec![]), (-32000, text(expected), json!("0x")));
        }
        let well = ExecutionEnd {
            error: None,
            gas_used: 1,
            max_gas_used: 1,
            output: Bytes::new(),
            logs: vec![],
        };
        assert_eq!(failure(&well, |_| None), None);
    }
}
