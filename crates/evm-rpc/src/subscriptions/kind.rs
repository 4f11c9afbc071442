//! The kinds of subscriptions.

use std::collections::BTreeSet;

use alloy_primitives::B256;
use esker_rpc::args::FromParams;
use esker_rpc::discover::{SubscriptionKind, SubscriptionMethods};
use esker_rpc::{Params, RpcError};

use crate::wire::{
    ConsoleReply, HashOrTransaction, LogFilter, LogReply, NewHead, ReceiptQuery, ReceiptReply,
};

/// The namespaces that have subscriptions; the canonical one, and the one of wallets and libraries.
const NAMESPACES: [&str; 2] = ["evm", "eth"];

/// Hashes that are looked up in the time that another item takes.
const HASHES_AN_ITEM: usize = 8;

/// A kind of subscription, with its arguments.
#[derive(Debug)]
pub(super) enum Kind {
    NewHeads,
    Logs(Box<LogFilter>),
    /// Whole transactions, or their hashes.
    PendingTransactions {
        full: bool,
    },
    /// Transactions that left the pool without being mined.
    DroppedTransactions {
        full: bool,
    },
    AcceptedTransactions {
        full: bool,
    },
    /// The receipts of a block in one notification: of these transactions, or of all.
    TransactionReceipts(Option<BTreeSet<B256>>),
    /// What contracts print.
    Console,
    /// Reports when syncing begins and ends (docs/decisions.md, "Further standard methods"): a node that is its own
    /// source of blocks never does.
    Syncing,
}

/// The names of the kinds, in the order of [`Kind::index`].
pub(super) const NAMES: [&str; 8] = [
    "newHeads",
    "logs",
    "newPendingTransactions",
    "droppedPendingTransactions",
    "newAcceptedTransactions",
    "transactionReceipts",
    "syncing",
    "console",
];

/// The events that a kind reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Blocks,
    /// Transactions that became pending.
    Pending,
    /// Transactions that the pool dropped.
    Dropped,
    /// Logs of removed blocks.
    RemovedLogs,
    /// Calls whose code prints.
    Printed,
}

impl Kind {
    /// All kinds, for documents.
    pub(super) fn methods() -> SubscriptionMethods {
        type Full = (String, Option<bool>);
        let (namespace, namespace_aliases) = ("evm", &["eth"]);
        let kinds = vec![
            SubscriptionKind::new::<(String,), NewHead>("newHeads"),
            SubscriptionKind::new::<(String, LogFilter), LogReply<'_>>("logs"),
            SubscriptionKind::new::<Full, HashOrTransaction>("newPendingTransactions"),
            SubscriptionKind::new::<Full, HashOrTransaction>("droppedPendingTransactions"),
            SubscriptionKind::new::<Full, HashOrTransaction>("newAcceptedTransactions"),
            SubscriptionKind::new::<(String, Option<ReceiptQuery>), Vec<ReceiptReply>>(
                "transactionReceipts",
            ),
            SubscriptionKind::new::<(String,), bool>("syncing"),
            SubscriptionKind::new::<(String,), ConsoleReply>("console"),
        ];
        SubscriptionMethods { namespace, namespace_aliases, arguments: &["options"], kinds }
    }

    /// The kind of this name with these arguments, the name first; `None`: there is none.
    pub(super) fn read(
        namespace: &str,
        name: &str,
        params: Params<'_>,
    ) -> Option<Result<Self, RpcError>> {
        if !NAMESPACES.contains(&namespace) {
            return None;
        }
        Some(match name {
            "newHeads" => arguments(params).map(|(_,): (String,)| Self::NewHeads),
            "logs" => arguments(params).and_then(|(_, filter): (String, LogFilter)| {
                filter.check_watch()?;
                Ok(Self::Logs(Box::new(filter)))
            }),
            "newPendingTransactions" => full(params).map(|full| Self::PendingTransactions { full }),
            "droppedPendingTransactions" => {
                full(params).map(|full| Self::DroppedTransactions { full })
            }
            "newAcceptedTransactions" => {
                full(params).map(|full| Self::AcceptedTransactions { full })
            }
            "transactionReceipts" => {
                arguments(params).and_then(|(_, query): (String, Option<ReceiptQuery>)| {
                    let query = query.unwrap_or_default();
                    let transactions = query.transactions().map_err(RpcError::new)?;
                    Ok(Self::TransactionReceipts(transactions))
                })
            }
            "syncing" => arguments(params).map(|(_,): (String,)| Self::Syncing),
            "console" => arguments(params).map(|(_,): (String,)| Self::Console),
            _ => return None,
        })
    }

    /// The place of its name among [`NAMES`].
    pub(super) const fn index(&self) -> usize {
        match self {
            Self::NewHeads => 0,
            Self::Logs(_) => 1,
            Self::PendingTransactions { .. } => 2,
            Self::DroppedTransactions { .. } => 3,
            Self::AcceptedTransactions { .. } => 4,
            Self::TransactionReceipts(_) => 5,
            Self::Syncing => 6,
            Self::Console => 7,
        }
    }

    /// Whether it reports events of this source.
    pub(super) fn wants(&self, source: Source) -> bool {
        self.sources().contains(&Some(source))
    }

    /// Whether it reports events at all.
    pub(super) const fn has_events(&self) -> bool {
        self.sources()[0].is_some()
    }

    /// The sources of its events, that of most of them first.
    pub(super) const fn sources(&self) -> [Option<Source>; 2] {
        match self {
            Self::NewHeads | Self::AcceptedTransactions { .. } | Self::TransactionReceipts(_) => {
                [Some(Source::Blocks), None]
            }
            Self::Logs(_) => [Some(Source::Blocks), Some(Source::RemovedLogs)],
            Self::Console => [Some(Source::Blocks), Some(Source::Printed)],
            Self::PendingTransactions { .. } => [Some(Source::Pending), None],
            Self::DroppedTransactions { .. } => [Some(Source::Dropped), None],
            Self::Syncing => [None; 2],
        }
    }

    /// Memory that the arguments take, bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Logs(filter) => filter.logs.bytes(),
            Self::TransactionReceipts(transactions) => transactions
                .as_ref()
                .map_or(0, |transactions| transactions.len() * size_of::<B256>()),
            Self::NewHeads
            | Self::PendingTransactions { .. }
            | Self::DroppedTransactions { .. }
            | Self::AcceptedTransactions { .. }
            | Self::Console
            | Self::Syncing => 0,
        }
    }

    /// The cost of examining one item, in items of the cheapest kind.
    pub(super) fn item_cost(&self) -> usize {
        match self {
            Self::TransactionReceipts(Some(transactions)) => {
                1 + transactions.len() / HASHES_AN_ITEM
            }
            Self::TransactionReceipts(None)
            | Self::Logs(_)
            | Self::NewHeads
            | Self::PendingTransactions { .. }
            | Self::DroppedTransactions { .. }
            | Self::AcceptedTransactions { .. }
            | Self::Console
            | Self::Syncing => 1,
        }
    }
}

fn full(params: Params<'_>) -> Result<bool, RpcError> {
    arguments(params).map(|(_, full): (String, Option<bool>)| full.unwrap_or(false))
}

fn arguments<T: FromParams>(params: Params<'_>) -> Result<T, RpcError> {
    T::from_params(params)
        .map_err(|error| RpcError::with_code(RpcError::INVALID_PARAMS, error.to_string()))
}
