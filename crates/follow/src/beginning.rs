//! The beginning of a development network. Followers ask their sources for it (docs/protocol/bundle-stream.md,
//! "Beginning of a development network").

use esker_outbound::{Dialer, SourceUrl};
use serde::{Deserialize, Serialize};

use crate::feed::SourceError;
use crate::request::{Timeouts, get};

/// Path of the answer.
const PATH: &str = "/ext/sync/beginning";
/// Most bytes of an answer.
const MAX_ANSWER: usize = 4096;

/// The beginning of a node's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkBeginning {
    /// ID of the network.
    #[serde(rename = "networkID")]
    pub network_id: u32,
    /// Time of the C-Chain's block 0, Unix seconds; `None` if it follows from the network alone.
    pub start: Option<u64>,
    /// Whether the extra data of that block is a fee window. A node that does not report this has a single byte
    /// there.
    #[serde(rename = "feeWindow", default)]
    pub has_fee_window: bool,
}

impl NetworkBeginning {
    /// Asks a node.
    ///
    /// # Errors
    /// It does not answer, or not with a beginning.
    pub async fn fetch(
        (dialer, url): (&Dialer, &SourceUrl),
        timeouts: Timeouts,
    ) -> Result<Self, SourceError> {
        let answer = read(dialer, url, timeouts);
        match tokio::time::timeout(timeouts.connect, answer).await {
            Ok(answer) => parse(&answer?),
            Err(_) => Err(SourceError::Stalled(timeouts.connect)),
        }
    }
}

async fn read(
    dialer: &Dialer,
    url: &SourceUrl,
    timeouts: Timeouts,
) -> Result<Vec<u8>, SourceError> {
    let mut body = get(dialer, url, PATH, timeouts.idle).await?;
    let mut answer = Vec::new();
    while let Some(data) = body.next().await? {
        if answer.len().saturating_add(data.len()) > MAX_ANSWER {
            return Err(SourceError::Protocol(format!("{PATH}: more than {MAX_ANSWER} bytes")));
        }
        answer.extend_from_slice(&data);
    }
    Ok(answer)
}

fn parse(answer: &[u8]) -> Result<NetworkBeginning, SourceError> {
    serde_json::from_slice(answer)
        .map_err(|error| SourceError::Protocol(format!("{PATH}: no beginning: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        for start in [None, Some(1_700_000_000)] {
            for has_fee_window in [true, false] {
                let beginning = NetworkBeginning { network_id: 12345, start, has_fee_window };
                assert_eq!(parse(&serde_json::to_vec(&beginning).unwrap()).unwrap(), beginning);
            }
        }
        // An answer of an earlier version.
        let answer = br#"{"networkID":1,"start":2}"#;
        let expected = NetworkBeginning { network_id: 1, start: Some(2), has_fee_window: false };
        assert_eq!(parse(answer).unwrap(), expected);
        for answer in
            ["", "{}", "[]", r#"{"networkID":"1","start":2}"#, r#"{"networkID":1,"start":-1}"#]
        {
            let refusal = parse(answer.as_bytes()).unwrap_err().to_string();
            assert!(refusal.contains("/ext/sync/beginning: no beginning: "), "{refusal}");
        }
    }
}
