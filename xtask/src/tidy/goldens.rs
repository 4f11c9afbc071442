//! The specified methods of the X-Chain and of atomic transactions: each has recorded exchanges. (That each is
//! registered is a test of tests/e2e, which sees the method tables.)

use anyhow::Result;

use crate::workspace;

/// The methods, by the reference's names, in which the exchanges are recorded.
const METHODS: &[&str] = &[
    "avm.buildGenesis",
    "avm.getAddressTxs",
    "avm.getAllBalances",
    "avm.getAssetDescription",
    "avm.getBalance",
    "avm.getBlock",
    "avm.getBlockByHeight",
    "avm.getHeight",
    "avm.getTx",
    "avm.getTxFee",
    "avm.getTxStatus",
    "avm.getUTXOs",
    "avm.issueTx",
    "wallet.issueTx",
    "avax.export",
    "avax.exportAVAX",
    "avax.exportKey",
    "avax.getAtomicTx",
    "avax.getAtomicTxStatus",
    "avax.getUTXOs",
    "avax.import",
    "avax.importKey",
    "avax.issueTx",
];

pub(super) fn breaches() -> Result<Vec<String>> {
    let mut text = String::new();
    for file in workspace::files()? {
        if file.starts_with("tests/golden") && file.extension().is_some_and(|e| e == "io") {
            text.push_str(&workspace::text(&file).unwrap_or_default());
        }
    }
    Ok(METHODS.iter().flat_map(|method| missing(&text, method)).collect())
}

/// What no exchange of a method shows: a result, an error.
fn missing(text: &str, method: &str) -> Vec<String> {
    // Recordings are written with a space after the colon, and without.
    let calls = ["", " "].map(|space| format!("\"method\":{space}\"{method}\""));
    let lines: Vec<&str> = text.lines().collect();
    let replies: Vec<&str> = lines
        .windows(2)
        .filter(|pair| pair[0].starts_with(">") && calls.iter().any(|call| pair[0].contains(call)))
        .map(|pair| pair[1])
        .collect();
    [("\"result\"", "success"), ("\"error\"", "failure")]
        .into_iter()
        .filter(|(member, _)| !replies.iter().any(|reply| reply.contains(member)))
        .map(|(_, what)| format!("{method}: no {what}"))
        .collect()
}
