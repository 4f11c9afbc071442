//! Requests and answers that documents show, read from their Markdown.
//!
//! A page shows a request as a `sh` block that is one `curl` command to `http://127.0.0.1:9650`, and the answer as the
//! `json` block that follows it, exactly as a node gave it. What differs from node to node (times, node IDs, whatever
//! was random) is named in a comment between the two:
//!
//! ```text
//! <!-- varies: result.timestamp=time result.containers.*.id=id -->
//! ```
//!
//! `*` stands for every member, the words after `=` are the kinds of [`crate::golden::matching::kind_fits`]. A text that varies
//! may occur further down the page, in a request above all: the real one takes its place there. So a reader sees one
//! consistent session, and it holds for every other.
//!
//! [`Page`] finds the exchanges, [`Session`] carries them out and compares; [`layout()`] is how an answer is broken into
//! lines when a test writes it anew.

mod answer;
mod curl;
mod layout;
mod page;
mod parameters;
mod session;

pub use answer::{Bindings, Varying};
pub use curl::Request;
pub use layout::layout;
pub use page::{Exchange, Page, Section};
pub use parameters::{parameter_table, type_words};
pub use session::{Attempt, Session};
