//! The source of a forked chain: another one takes its place.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError};
use esker_rpc::{Caller, RpcError, UNTRUSTED_ORIGIN};
use futures_util::future::BoxFuture;

use super::{DevelopmentNode, refused};

/// Longest text of a URL, bytes.
const MAX_URL: usize = 4096;
/// The answer of a chain that is no fork.
pub(super) const NO_FORK: &str = "this node forks no other network";

/// The source of a forked chain.
pub trait ForkSource: fmt::Debug + Send + Sync {
    /// Its URL without credentials and keys; `None`: the chain runs without a source.
    fn url(&self) -> Option<String>;

    /// The text of the last change by [`Self::set_url`], with all its secrets.
    fn changed_url(&self) -> Option<String>;

    /// Lets the chain read from another node, or several with commas, once it has shown that it has the block. The error is for
    /// clients; then nothing has changed.
    fn set_url(&self, url: String) -> BoxFuture<'_, Result<(), String>>;
}

/// A URL, or several with commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceUrl(pub(super) String);

esker_rpc::schema!(SourceUrl, "SourceUrl", {
    "title": "URL",
    "description": "A URL of HTTP or HTTPS, or several, separated by commas.",
    "type": "string",
});

impl SourceUrl {
    /// A text that may be a URL; `None` if it is empty or too long.
    pub(super) fn new(text: String) -> Option<Self> {
        let is_named = text.len() <= MAX_URL && !text.trim_matches([' ', ',']).is_empty();
        is_named.then_some(Self(text))
    }
}

impl Argument for SourceUrl {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("string")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let text = String::decode(value)?;
        let expected = || ArgumentError::text("expected a URL of at most 4096 bytes");
        Self::new(text).ok_or_else(expected)
    }
}

/// Reads the state of the fork from another node from now on.
pub(super) async fn set_rpc_url(
    node: Arc<DevelopmentNode>,
    (SourceUrl(url),): (SourceUrl,),
    caller: Caller,
) -> Result<(), RpcError> {
    let Some(source) = &node.fork_source else { return Err(refused(NO_FORK)) };
    // A page of another site makes the node connect to nobody.
    if caller.is_untrusted_page {
        return Err(refused(UNTRUSTED_ORIGIN));
    }
    source.set_url(url).await.map_err(refused)
}
