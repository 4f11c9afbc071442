//! The specified methods of the X-Chain and of atomic transactions must have recorded exchanges. (A test of
//! tests/e2e, which sees the method tables, checks that each is registered.)

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

/// The outcome that no exchange of a method shows: a result, an error.
fn missing(text: &str, method: &str) -> Vec<String> {
    [(shows_result(text, method), "success"), (shows_refusal(text, method), "failure")]
        .into_iter()
        .filter(|(is_shown, _)| !is_shown)
        .map(|(_, what)| format!("{method}: no {what}"))
        .collect()
}

/// Whether recorded exchanges hold a result of a method, named as recorded.
pub(super) fn shows_result(text: &str, method: &str) -> bool {
    replies(text, method).any(|reply| reply.contains("\"result\""))
}

/// Whether recorded exchanges hold an error of a method, named as recorded, or a request with it that HTTP refuses.
pub(super) fn shows_refusal(text: &str, method: &str) -> bool {
    let is_refusal = |reply: &str| reply.starts_with("<!") && !reply.starts_with("<! 200");
    replies(text, method).any(|reply| reply.contains("\"error\"") || is_refusal(reply))
}

/// The replies to requests with a method.
fn replies<'a>(text: &'a str, method: &str) -> impl Iterator<Item = &'a str> {
    // Recordings are written both with and without a space after the colon.
    let calls = ["", " "].map(|space| format!("\"method\":{space}\"{method}\""));
    text.lines()
        .zip(text.lines().skip(1))
        .filter(move |(request, _)| {
            request.starts_with('>') && calls.iter().any(|call| request.contains(call))
        })
        .map(|(_, reply)| reply)
}
