//! Reports of accepted blocks, for the screen.

use alloy_consensus::Transaction as _;
use alloy_primitives::hex;
use esker_artifacts::Registry;
use esker_chain::{BlockReport, PrintedTexts, RunTarget, TxReport};
use esker_evm_execution::call::revert_reason;
use esker_evm_execution::executor::{TxConsole, TxFailure, VmError};

use super::AcceptedBlock;
use super::vm::Evm;
use crate::control::Controls;
use crate::runs::{base, failure_of};

/// Bytes of unknown data that a reason shows.
const MAX_SHOWN: usize = 64;

impl Evm {
    /// The transactions of a block, then those in its ext data.
    pub(super) fn report(&self, accepted: &AcceptedBlock) -> BlockReport {
        let AcceptedBlock { block, hash, receipts, failures, printed, .. } = accepted;
        let mut txs: Vec<TxReport> = Vec::with_capacity(receipts.len());
        for (tx, receipt) in block.transactions.iter().zip(receipts) {
            let mut run = base(receipt.from, tx.to(), tx.value());
            if let Some(address) = receipt.contract_address {
                let address = format!("{address:#x}");
                run.target = RunTarget::Creation { name: None, address };
            }
            txs.push(TxReport {
                id: tx.tx_hash().to_string(),
                kind: None,
                contract: receipt.contract_address.map(|address| address.to_string()),
                gas_used: Some(receipt.gas_used),
                failure: (!receipt.success).then(|| "failed".to_owned()),
                run: Some(run),
                gas_limit: Some(tx.gas_limit()),
                ..TxReport::default()
            });
        }
        self.add_names(accepted, &mut txs);
        if self.config.reports_calls {
            self.add_call_lines(accepted, &mut txs);
        }
        let artifacts = self.controls.as_deref().map(Controls::artifacts);
        let no_names = Registry::default();
        for failure in failures {
            if let Some(tx) = txs.get_mut(failure.index) {
                tx.failure = Some(reason(failure, artifacts));
                let TxFailure { error, data, data_len, .. } = failure;
                let names = artifacts.unwrap_or(&no_names);
                let of_run = failure_of(names, error, data, *data_len);
                tx.run.get_or_insert_default().failure = Some(of_run);
            }
        }
        for TxConsole { index, console } in printed {
            if let Some(tx) = txs.get_mut(*index) {
                let texts = console.texts().collect();
                tx.printed = PrintedTexts { texts, left_out: console.left_out() };
            }
        }
        txs.extend(self.extension().reports(&block.ext_data));
        BlockReport { hash: hash.to_string(), txs }
    }
}

/// The reason of a revert, custom errors by their names if `artifacts` know them, or the node's own text.
fn reason(failure: &TxFailure, artifacts: Option<&Registry>) -> String {
    let TxFailure { error, data, data_len, .. } = failure;
    if *error != VmError::Reverted {
        return format!("failed: {error}");
    }
    if let Some(reason) = revert_reason(data) {
        return format!("reverted with: {reason}");
    }
    if let Some(error) = artifacts.and_then(|artifacts| artifacts.error(data)) {
        return format!("reverted with: {error}");
    }
    let shown = hex::encode(&data[..data.len().min(MAX_SHOWN)]);
    let more = match *data_len > MAX_SHOWN {
        true => format!("... ({data_len} bytes)"),
        false => String::new(),
    };
    match data_len {
        0 => "reverted without a reason".to_owned(),
        1..4 => format!("reverted with: data 0x{shown}"),
        4 => format!("reverted with: custom error 0x{shown}"),
        _ => format!("reverted with: custom error 0x{}: {}{more}", &shown[..8], &shown[8..]),
    }
}

#[cfg(test)]
mod tests {
    use esker_evm_execution::executor::ExecutionEnd;

    use super::*;

    fn reason(error: VmError, output: Vec<u8>) -> String {
        let output = output.into();
        let ended =
            ExecutionEnd { error: Some(error), gas_used: 1, max_gas_used: 1, output, logs: vec![] };
        super::reason(&TxFailure::from_end(0, &ended).unwrap(), Some(&Registry::default()))
    }

    fn word(number: u8) -> Vec<u8> {
        [vec![0; 31], vec![number]].concat()
    }

    /// The error of a standard.
    const OWNABLE: &str = "reverted with: \
        OwnableUnauthorizedAccount(account: 0x0000000000000000000000000000000000000003)";

    #[test]
    fn reasons() {
        let text = b"no luck".to_vec();
        let error = [hex!("08c379a0").to_vec(), word(32), word(7), text, vec![0; 25]].concat();
        let panic = [hex!("4e487b71").to_vec(), word(0x11)].concat();
        for (output, want) in [
            (error, "reverted with: no luck"),
            (panic, "reverted with: arithmetic underflow or overflow"),
            (hex!("cf479181").to_vec(), "reverted with: custom error 0xcf479181"),
            (hex!("cf47918107").to_vec(), "reverted with: custom error 0xcf479181: 07"),
            (
                [hex!("fe9b40a3").to_vec(), word(3)].concat(),
                "reverted with: custom error 0xfe9b40a3: 0000000000000000000000000000000000000000000000000000000000000003",
            ),
            ([hex!("118cdaa7").to_vec(), word(3)].concat(), OWNABLE),
            (vec![1, 2], "reverted with: data 0x0102"),
            (vec![], "reverted without a reason"),
        ] {
            assert_eq!(reason(VmError::Reverted, output), want);
        }
        let long = reason(VmError::Reverted, vec![1; 100_000]);
        assert!(long.ends_with("01... (100000 bytes)") && long.len() < 300, "{long}");
        assert_eq!(reason(VmError::OutOfGas, vec![1]), "failed: out of gas");
        let ended = ExecutionEnd {
            error: None,
            gas_used: 1,
            max_gas_used: 1,
            output: Vec::new().into(),
            logs: vec![],
        };
        assert_eq!(TxFailure::from_end(0, &ended), None);
    }
}
