//! Followers: nodes that take final bundles from another node, verify each of them, and serve their state.
//!
//! [`Follower`] is the engine of such a node. It asks a [`Source`] for the bundles after its own last one, gives them
//! to the machine like an engine with another validator's bundles, and goes on with the next source where one fails.
//! [`EskerSource`] is a source over the stream that [`BundleServer`] serves (docs/protocol/bundle-stream.md, "Records").
//! [`snapshot`] has the other way to begin: the state at a bundle, without the bundles before it.
//! No source is trusted: the machine verifies every block, and nothing that is final is ever replaced. Where several
//! nodes decide, a bundle also needs the votes of a quorum, which [`FollowedValidators`] check; changes of them come from
//! sources, too.

mod beginning;
mod client;
mod engine;
mod feed;
mod forward;
mod patience;
mod record;
mod request;
mod serve;
pub mod snapshot;
mod status;
mod validators;

pub use beginning::NetworkBeginning;
pub use client::EskerSource;
pub use engine::{Follower, FollowerConfig, MAX_UNCERTIFIED, MAX_UNCERTIFIED_BYTES};
pub use feed::{Feed, FeedItem, Source, SourceError};
pub use forward::{PreferredSource, SourceForwarder};
pub use record::{Hello, MAX_RECORD_LEN, PROTOCOL_VERSION, Record, RecordError, RecordReader};
pub use request::Timeouts;
pub use serve::{BundleServer, BundleStream, OpenError, ServerConfig};
pub use status::FollowStatus;
pub use validators::{ChangeRefusal, FollowedValidators};
