//! JSON-RPC 2.0 over [`HttpClient`]: one call, one reply.

use std::net::SocketAddr;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::http::{HttpClient, HttpError, HttpReply};

/// The reason why a call gave no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No reply, or one that is not HTTP.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A reply with another status than 200.
    #[error("status {status}: {text}")]
    Status {
        /// Status code of the reply.
        status: u16,
        /// Its body.
        text: String,
    },
    /// The node's error object.
    #[error("{message}")]
    Rpc {
        /// `error.code`.
        code: i64,
        /// `error.message`, as the node wrote it.
        message: String,
    },
    /// The body is not what the method answers.
    #[error("unexpected reply: {0}")]
    Unexpected(String),
}

impl CallError {
    /// The node's error text, where the node refused the call.
    pub fn rpc_message(&self) -> Option<&str> {
        match self {
            Self::Rpc { message, .. } => Some(message),
            Self::Http(_) | Self::Status { .. } | Self::Unexpected(_) => None,
        }
    }
}

/// Calls methods on the paths of one node.
#[derive(Debug)]
pub struct RpcClient {
    http: HttpClient,
    next_id: u64,
}

impl RpcClient {
    /// A client of the node at `address`; nothing is sent yet.
    pub fn new(address: SocketAddr) -> Self {
        Self::over(HttpClient::new(address))
    }

    /// Calls by that client.
    pub fn over(http: HttpClient) -> Self {
        Self { http, next_id: 1 }
    }

    /// The HTTP client below, for requests that are no calls.
    pub fn http(&mut self) -> &mut HttpClient {
        &mut self.http
    }

    /// Posts a body as `application/json`.
    pub fn post(&mut self, path: &str, body: &[u8]) -> Result<HttpReply, HttpError> {
        self.http.request("POST", path, &[("Content-Type", "application/json")], body)
    }

    /// Calls `method` with `params` and decodes the result.
    pub fn call<R: DeserializeOwned>(
        &mut self,
        path: &str,
        method: &str,
        params: impl Serialize,
    ) -> Result<R, CallError> {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let request = serde_json::json!({
            "jsonrpc": "2.0", "id": id, "method": method,
            "params": serde_json::to_value(params).map_err(|e| CallError::Unexpected(e.to_string()))?,
        });
        let reply = self.post(path, request.to_string().as_bytes())?;
        if reply.status != 200 {
            return Err(CallError::Status { status: reply.status, text: reply.text() });
        }
        result_of(&reply.body, id)
    }
}

/// Takes the result out of a reply body, checking that it answers the call `id`.
fn result_of<R: DeserializeOwned>(body: &[u8], id: u64) -> Result<R, CallError> {
    let unexpected = |why: String| {
        CallError::Unexpected(format!("{why}: {}", String::from_utf8_lossy(body).trim_end()))
    };
    let mut reply: Value = serde_json::from_slice(body).map_err(|e| unexpected(e.to_string()))?;
    if reply["id"] != id {
        return Err(unexpected("another id".to_owned()));
    }
    if let Some(error) = reply.get("error") {
        return Err(CallError::Rpc {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
        });
    }
    serde_json::from_value(reply["result"].take()).map_err(|e| unexpected(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_errors() {
        let ok: Value =
            result_of(br#"{"jsonrpc":"2.0","result":{"height":"3"},"id":7}"#, 7).unwrap();
        assert_eq!(ok["height"], "3");
        let refused = result_of::<Value>(
            br#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"not found","data":null},"id":7}"#,
            7,
        );
        assert_eq!(refused.unwrap_err().rpc_message(), Some("not found"));
        for body in ["", "{}", r#"{"jsonrpc":"2.0","result":{},"id":8}"#] {
            assert!(matches!(
                result_of::<Value>(body.as_bytes(), 7),
                Err(CallError::Unexpected(_))
            ));
        }
    }
}
