//! Which logs are meant: Go's `filters.FilterCriteria` (docs/protocol/c-chain-rpc.md, "Logs").

use std::borrow::Cow;

use alloy_primitives::{Address, B256, Log};
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use esker_go_json::{Document, Kind};
use esker_rpc::RpcError;
use serde_json::{Value, json};
use thiserror::Error;

use super::hexutil::{self, HexError};
use super::{Addr, BlockNumber, Hash};

/// Topics of a log, at most.
pub const MAX_TOPICS: usize = 4;

/// Criteria for logs, and for their blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Whose logs.
    pub blocks: LogBlocks,
    /// Which of their logs.
    pub logs: LogMatcher,
}

/// Blocks whose logs are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogBlocks {
    /// One block.
    Hash(B256),
    /// From one to another, both included.
    Range {
        /// `latest` if it was not given.
        from: BlockNumber,
        /// `latest` if it was not given.
        to: BlockNumber,
    },
}

/// Criteria for a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogMatcher {
    addresses: AnyOf<Address>,
    /// By place in the log. Of those behind the last that a log can have only their number is known.
    topics: Vec<AnyOf<B256>>,
    positions: usize,
}

/// Values of which one has to be there; of none, any will do. Kept in order, so that many cost little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnyOf<T>(Box<[T]>);

impl Default for LogBlocks {
    fn default() -> Self {
        Self::Range { from: BlockNumber::Latest, to: BlockNumber::Latest }
    }
}

impl<T> Default for AnyOf<T> {
    fn default() -> Self {
        Self(Box::default())
    }
}

impl<T: Ord> AnyOf<T> {
    /// One of these.
    pub fn from_values(mut values: Vec<T>) -> Self {
        values.sort_unstable();
        values.dedup();
        Self(values.into_boxed_slice())
    }

    /// Does this value match?
    pub fn matches(&self, value: &T) -> bool {
        self.0.is_empty() || self.0.binary_search(value).is_ok()
    }
}

impl<T> AnyOf<T> {
    /// The values; none: any will do.
    pub fn values(&self) -> &[T] {
        &self.0
    }
}

impl LogMatcher {
    /// Logs of these addresses with these topics, place by place.
    pub fn new(addresses: AnyOf<Address>, mut topics: Vec<AnyOf<B256>>) -> Self {
        let positions = topics.len();
        topics.truncate(MAX_TOPICS);
        Self { addresses, topics, positions }
    }

    /// Does this log match? One with fewer topics than positions never does, whatever their criteria.
    pub fn matches(&self, log: &Log) -> bool {
        self.positions <= log.topics().len()
            && self.addresses.matches(&log.address)
            && self.topics.iter().zip(log.topics()).all(|(wanted, topic)| wanted.matches(topic))
    }

    /// Whose logs.
    pub fn addresses(&self) -> &AnyOf<Address> {
        &self.addresses
    }

    /// The topics, position by position.
    pub fn topics(&self) -> &[AnyOf<B256>] {
        &self.topics
    }

    /// More topics than a log can have are refused where logs are read at once, and never match elsewhere.
    pub fn check_topics(&self) -> Result<(), RpcError> {
        if self.positions > MAX_TOPICS {
            return Err(RpcError::new("exceed max topics"));
        }
        Ok(())
    }

    /// Number of values that were named.
    pub fn values(&self) -> usize {
        let topics: usize = self.topics.iter().map(|wanted| wanted.values().len()).sum();
        self.addresses.values().len() + topics
    }

    /// Memory that this takes, bytes.
    pub fn bytes(&self) -> usize {
        let topics: usize = self.topics.iter().map(|wanted| size_of_val(wanted.values())).sum();
        size_of_val(self.addresses.values()) + topics
    }
}

impl LogFilter {
    /// Can logs that are still to come be watched by it? From the reference: a range runs forwards, and ends
    /// with `latest`, `pending` or a number.
    pub fn check_watch(&self) -> Result<(), RpcError> {
        use BlockNumber::{Accepted, Earliest, Finalized, Latest, Number, Pending, Safe};
        let LogBlocks::Range { from, to } = self.blocks else { return Ok(()) };
        let runs_forwards = match (from, to) {
            (Number(from), Number(to)) => from <= to,
            (Number(from), Earliest) => from == 0,
            (Latest | Earliest | Number(_), Latest)
            | (Latest | Pending | Earliest | Number(_), Pending)
            | (Earliest, Earliest | Number(_)) => true,
            (Latest | Pending, Earliest | Number(_))
            | (Pending, Latest)
            | (Accepted | Finalized | Safe, _)
            | (_, Accepted | Finalized | Safe) => false,
        };
        if runs_forwards {
            return Ok(());
        }
        Err(RpcError::new("invalid from and to block combination: from > to"))
    }

    /// Does a watcher want logs of the block at this height? Only numbers bound what is still to come; as in
    /// the reference a block hash does not.
    pub fn watches(&self, height: u64) -> bool {
        let LogBlocks::Range { from, to } = self.blocks else { return true };
        let starts = from.fixed().is_none_or(|from| height >= from);
        let ended = to.fixed().is_some_and(|to| height > to);
        starts && !ended
    }

    /// Does this log match, whatever its block?
    pub fn matches(&self, log: &Log) -> bool {
        self.logs.matches(log)
    }

    /// The argument of `getLogs` that means the same.
    pub fn to_json(&self) -> Value {
        let LogMatcher { addresses, topics, positions } = &self.logs;
        let topics = (0..*positions).map(|place| match topics.get(place) {
            Some(wanted) if !wanted.values().is_empty() => json!(wanted.values()),
            _ => Value::Null,
        });
        let mut filter = json!({ "topics": topics.collect::<Vec<_>>() });
        if !addresses.values().is_empty() {
            filter["address"] = json!(addresses.values());
        }
        match self.blocks {
            LogBlocks::Hash(hash) => filter["blockHash"] = json!(hash),
            LogBlocks::Range { from, to } => {
                filter["fromBlock"] = from.to_text().into();
                filter["toBlock"] = to.to_text().into();
            }
        }
        filter
    }
}

/// A decoded member, whose error comes only after those of other members.
struct DeferredError<T>(Result<T, ArgumentError>);

/// `address`: text, or a list of texts.
type Addresses = DeferredError<AnyOf<Address>>;
/// `topics`: for each place null, a text, or a list of texts. A null in such a list takes any topic.
type Topics = DeferredError<Vec<AnyOf<B256>>>;

esker_rpc::schema!(Addresses, "OneOrManyAddresses", |generator| {
    "title": "address or list of addresses",
    "anyOf": [
        generator.subschema_for::<Addr>(),
        { "type": "array", "items": generator.subschema_for::<Addr>() },
        { "type": "null" },
    ],
});
esker_rpc::schema!(Topics, "Topics", |generator| {
    "title": "topics",
    "description": "For each place one topic, a list of which one must be there, or null for any.",
    "type": ["array", "null"],
    "items": {
        "anyOf": [
            generator.subschema_for::<Hash>(),
            { "type": "array", "items": generator.subschema_for::<Option<Hash>>() },
            { "type": "null" },
        ],
    },
});
esker_rpc::schema!(LogFilter, "LogFilter", |generator| {
    "title": "filter",
    "description": "Logs of one block, or from one to another, both included; `latest` where none is given.",
    "type": "object",
    "properties": {
        "blockHash": generator.subschema_for::<Option<Hash>>(),
        "fromBlock": generator.subschema_for::<Option<BlockNumber>>(),
        "toBlock": generator.subschema_for::<Option<BlockNumber>>(),
        "address": generator.subschema_for::<Addresses>(),
        "topics": generator.subschema_for::<Topics>(),
    },
});

impl Argument for Addresses {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("interface {}")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        check_numbers(value)?;
        Ok(Self(addresses(value)))
    }
}

impl Argument for Topics {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("[]interface {}")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        check_numbers(value)?;
        match value.kind() {
            Kind::Null | Kind::Array => Ok(Self(value.elements().map(place).collect())),
            kind => Err(ArgumentError::kind(kind, Self::go_type())),
        }
    }
}

/// Numbers are no topics and no addresses, but Go decodes them first.
fn check_numbers(value: Document<'_>) -> Result<(), ArgumentError> {
    /// Lists of lists: more is refused for what it is.
    const DEPTH: usize = 2;
    value.overflowing_number(DEPTH).map_or(Ok(()), |literal| Err(ArgumentError::overflow(literal)))
}

impl Argument for LogFilter {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("filters.FilterCriteria")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let (mut hash, mut from, mut to) = (None::<Hash>, None::<BlockNumber>, None::<BlockNumber>);
        let mut addresses: Addresses = DeferredError(Ok(AnyOf::default()));
        let mut topics: Topics = DeferredError(Ok(Vec::new()));
        decode_struct(
            value,
            "filters.input",
            &mut [
                ("blockHash", &mut hash),
                ("fromBlock", &mut from),
                ("toBlock", &mut to),
                ("address", &mut addresses),
                ("topics", &mut topics),
            ],
        )?;
        let blocks = match (hash, from, to) {
            (None, from, to) => LogBlocks::Range {
                from: from.unwrap_or(BlockNumber::Latest),
                to: to.unwrap_or(BlockNumber::Latest),
            },
            (Some(Hash(hash)), None, None) => LogBlocks::Hash(hash),
            (Some(_), _, _) => {
                return Err(ArgumentError::text(
                    "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other",
                ));
            }
        };
        Ok(Self { blocks, logs: LogMatcher::new(addresses.0?, topics.0?) })
    }
}

fn addresses(value: Document<'_>) -> Result<AnyOf<Address>, ArgumentError> {
    let read = |text: &str| data(text, "address").map(Address::from);
    match (value.as_str(), value.kind()) {
        (_, Kind::Null) => Ok(AnyOf::default()),
        (Some(text), _) => {
            let address = read(&text)
                .map_err(|fault| ArgumentError::text(format!("invalid address: {fault}")))?;
            Ok(AnyOf::from_values(vec![address]))
        }
        (None, Kind::Array) => {
            let element = |(at, element): (usize, Document<'_>)| {
                let text = element.as_str().ok_or_else(|| {
                    ArgumentError::text(format!("non-string address at index {at}"))
                })?;
                read(&text).map_err(|fault| {
                    ArgumentError::text(format!("invalid address at index {at}: {fault}"))
                })
            };
            let list: Result<Vec<_>, _> = value.elements().enumerate().map(element).collect();
            list.map(AnyOf::from_values)
        }
        (None, _) => Err(ArgumentError::text("invalid addresses in query")),
    }
}

/// Criteria for the topic at one position.
fn place(value: Document<'_>) -> Result<AnyOf<B256>, ArgumentError> {
    let read = |text: &str| {
        let topic = data(text, "topic").map(B256::from);
        topic.map_err(|error| ArgumentError::text(error.to_string()))
    };
    match (value.as_str(), value.kind()) {
        (_, Kind::Null) => Ok(AnyOf::default()),
        (Some(text), _) => Ok(AnyOf::from_values(vec![read(&text)?])),
        (None, Kind::Array) => {
            let mut topics = Vec::new();
            for element in value.elements() {
                if element.kind() == Kind::Null {
                    // The topics after it are ignored.
                    return Ok(AnyOf::default());
                }
                topics.push(read(&element.as_str().ok_or_else(not_a_topic)?)?);
            }
            Ok(AnyOf::from_values(topics))
        }
        (None, _) => Err(not_a_topic()),
    }
}

fn not_a_topic() -> ArgumentError {
    ArgumentError::text("invalid topic(s)")
}

/// Data of `N` bytes, with the texts of this argument.
fn data<const N: usize>(text: &str, of: &'static str) -> Result<[u8; N], DataError> {
    let bytes = hexutil::decode(text.as_bytes())?;
    let found = bytes.len();
    bytes.try_into().map_err(|_| DataError::Length { found, expected: N, of })
}

/// The reason why a text is no such data.
#[derive(Debug, Error)]
enum DataError {
    #[error(transparent)]
    Hex(#[from] HexError),
    #[error("hex has invalid length {found} after decoding; expected {expected} for {of}")]
    Length { found: usize, expected: usize, of: &'static str },
}
