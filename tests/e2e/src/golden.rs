//! Replays recorded exchanges (`*.io` scenarios) against a node.
//!
//! A scenario is a text file; a fresh node starts each one from the genesis of the local network.
//!
//! ```text
//! # text                comment
//! :profile NAME         the file needs another configuration (tests/golden/profiles); at the top
//! :path /ext/bc/X       path of the requests that follow
//! :method GET           for the next request only (default POST)
//! :header Name: value   for the next request only; an empty value removes a default header
//! :let NAME a.b.0       before a request: binds a member of its reply to ${NAME}
//! :sleep SECONDS        waits (only where a time limit itself is what is recorded)
//! >> BODY               a request; ${NAME} is replaced by what was bound
//! >? BODY               the same, repeated until the reply matches (20 s at most)
//! << JSON               reply: status 200 and this JSON; nothing after << is an empty body
//! <! STATUS TEXT        reply: another status, and this text (the closing newline apart)
//! <h Name: value        a header of the reply (one pattern; nothing after the colon: it must be absent)
//! :raw                  (for the recorder only)
//! :ws PATH              opens a websocket; >w sends a message, <w expects the next one
//! ```
//!
//! Expected JSON is compared value by value: member order is free, anything missing or extra fails. In expected
//! JSON a string `"$NAME"` is a bound value, `"$:KIND"` any value of a kind, `"$NAME:KIND"` the same, and binds it;
//! a kind is a name ([`matching::kind_fits`]) or `/regular expression/`. `"...": true` in an object allows further
//! members. An array whose first element is `"$unordered"` is compared as a set.

pub mod matching;
pub mod names;
pub mod run;
pub mod scenario;

pub use names::Names;
pub use run::{Failure, Outcome, replay};
pub use scenario::Scenario;
