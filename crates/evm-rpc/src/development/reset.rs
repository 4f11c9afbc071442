//! Resets: back to the beginning, or on to another chain, for which the node's owner puts another node in its place.

use std::borrow::Cow;
use std::sync::Arc;

use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError};
use esker_primitives::sync::Mutex;
use esker_rpc::{Caller, RpcError, UNTRUSTED_ORIGIN};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use super::numbers::Number;
use super::source::SourceUrl;
use super::{DevelopmentNode, refused};

/// Most resets that wait for their turn.
const MAX_WAITING: usize = 8;

/// The chain that a reset asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResetTarget {
    /// A new chain that is no fork.
    Unforked,
    /// A chain on a block of another node.
    Fork {
        /// URL of the node; `None`: the source with which the present chain has begun.
        url: Option<String>,
        /// Height of the block; `None`: the newest one.
        number: Option<u64>,
    },
}

/// A reset to another chain. If it is dropped, the client gets an error.
#[derive(Debug)]
pub struct ResetRequest {
    /// The other chain.
    pub target: ResetTarget,
    done: oneshot::Sender<Result<(), String>>,
}

impl ResetRequest {
    /// Ends the client's request: the other chain stands, or it can't be had, and nothing has changed.
    pub fn answer(self, outcome: Result<(), String>) {
        // The client may have left.
        let _gone = self.done.send(outcome);
    }
}

/// Passes resets to other chains on to the owner of the node, if it takes them.
#[derive(Clone, Debug, Default)]
pub struct ResetPort(Arc<Mutex<Option<mpsc::Sender<ResetRequest>>>>);

impl ResetPort {
    /// The requests from now on, until the receiver is dropped.
    pub fn requests(&self) -> mpsc::Receiver<ResetRequest> {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        *self.0.lock() = Some(sender);
        receiver
    }

    fn is_served(&self) -> bool {
        self.sender().is_some()
    }

    fn sender(&self) -> Option<mpsc::Sender<ResetRequest>> {
        self.0.lock().clone().filter(|sender| !sender.is_closed())
    }

    async fn request(&self, target: ResetTarget) -> Result<(), RpcError> {
        let Some(sender) = self.sender() else { return Err(refused(NO_OTHER_CHAIN)) };
        let (done, outcome) = oneshot::channel();
        let gone = || refused("the node is stopping, or was reset by another request");
        sender.send(ResetRequest { target, done }).await.map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())?.map_err(refused)
    }
}

/// The reason why a reset stays on the chain: a node that keeps it, or that has others beside it.
const NO_OTHER_CHAIN: &str = "this node forks no other network: use esker evm, without --data-dir, --ipc, --no-build and --follow";
/// Anvil's text.
const NO_URL: &str = "Forking not enabled and RPC URL not provided to start forking";

/// The options of a reset.
#[derive(Clone, Debug, Default)]
pub(super) struct ResetOptions {
    has_forking: bool,
    url: Option<String>,
    number: Option<u64>,
}

esker_rpc::schema!(ResetOptions, "ResetOptions", {
    "title": "options",
    "description": "An object. Its `forking` names another node and a block.",
    "type": "object",
    "properties": {
        "forking": {
            "type": ["object", "null"],
            "properties": {
                "jsonRpcUrl": { "type": ["string", "null"] },
                "blockNumber": { "type": ["integer", "string", "null"] },
            },
        },
    },
});

impl Argument for ResetOptions {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("ResetOptions")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let expected = |text: &'static str| ArgumentError::text(text);
        let no_url = || expected("forking.jsonRpcUrl: expected a URL");
        let mut options = serde_json::from_slice::<Map<_, _>>(value.as_bytes())
            .map_err(|_| expected("expected an object"))?;
        let mut forking = match options.remove("forking").unwrap_or_default() {
            Value::Null => return Ok(Self::default()),
            Value::Object(members) => members,
            _ => return Err(expected("forking: expected an object")),
        };
        let url = match forking.remove("jsonRpcUrl").unwrap_or_default() {
            Value::Null => None,
            Value::String(url) => Some(url),
            _ => return Err(no_url()),
        };
        let url = url.map(|url| SourceUrl::new(url).ok_or_else(no_url)).transpose()?;
        let url = url.map(|SourceUrl(url)| url);
        let number = match forking.remove("blockNumber").unwrap_or_default() {
            Value::Null => None,
            Value::Number(number) => Some(number.to_string()),
            Value::String(text) => Some(text),
            _ => return Err(expected("forking.blockNumber: expected a number")),
        };
        let parse = |text: String| Number::parse(text.as_bytes())?.try_into().ok();
        let number = number.map(|text| {
            parse(text).ok_or_else(|| expected("forking.blockNumber: expected a number of a block"))
        });
        let number = number.transpose()?;
        Ok(Self { has_forking: true, url, number })
    }
}

impl ResetOptions {
    /// The block of another node that they name, if they name one.
    fn fork(self, node: &DevelopmentNode) -> Result<Option<ResetTarget>, RpcError> {
        match (self.url, self.number) {
            (None, None) => Ok(None),
            (None, Some(_)) if node.chain.fork().is_none() => {
                Err(RpcError::with_code(RpcError::INVALID_PARAMS, NO_URL))
            }
            (url, number) => {
                let present = || node.fork_source.as_ref()?.changed_url();
                Ok(Some(ResetTarget::Fork { url: url.or_else(present), number }))
            }
        }
    }
}

/// Whose reset it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Anvil,
    Hardhat,
}

/// Goes back to the beginning, or on to another chain, and forgets all snapshots.
pub(super) async fn reset(
    node: Arc<DevelopmentNode>,
    (options,): (Option<ResetOptions>,),
    caller: Caller,
) -> Result<(), RpcError> {
    reset_as(Tool::Anvil, node, options, &caller).await
}

/// Like [`reset`], with Hardhat's reply.
pub(super) async fn hardhat_reset(
    node: Arc<DevelopmentNode>,
    (options,): (Option<ResetOptions>,),
    caller: Caller,
) -> Result<bool, RpcError> {
    reset_as(Tool::Hardhat, node, options, &caller).await.map(|()| true)
}

async fn reset_as(
    tool: Tool,
    node: Arc<DevelopmentNode>,
    options: Option<ResetOptions>,
    caller: &Caller,
) -> Result<(), RpcError> {
    node.controls_to_write()?;
    match target(tool, &node, options)? {
        // A page of another site makes the node connect to nobody.
        Some(ResetTarget::Fork { .. }) if caller.is_untrusted_page => {
            Err(refused(UNTRUSTED_ORIGIN))
        }
        Some(target) => node.resets.request(target).await,
        None => {
            let reset = async move { node.snapshots.reset().await };
            tokio::spawn(reset).await.map_err(refused)?.map_err(refused)
        }
    }
}

/// The other chain that is asked for; `None`: the beginning of this one. Without options both tools leave the fork.
fn target(
    tool: Tool,
    node: &DevelopmentNode,
    options: Option<ResetOptions>,
) -> Result<Option<ResetTarget>, RpcError> {
    let leaves = match (tool, &options) {
        (_, None) => true,
        (Tool::Hardhat, Some(options)) => !options.has_forking,
        (Tool::Anvil, Some(_)) => false,
    };
    if leaves {
        let can_leave = node.chain.fork().is_some() && node.resets.is_served();
        return Ok(can_leave.then_some(ResetTarget::Unforked));
    }
    options.unwrap_or_default().fork(node)
}
