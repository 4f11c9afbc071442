//! For tests of contracts and wallets: a development node as a process of the test's own.
//!
//! [`DevNode`] starts `esker dev` on free ports, has its accounts, funds addresses on both chains, and goes back to a
//! snapshot at the end of each test. The node ends with its `DevNode`, and with the test's process, however that ends.
//! Every wait has a deadline, and errors of the process and of calls have the node's last log lines. Nothing here knows how
//! the node works inside.
//!
//! ```no_run
//! use esker_testing::DevNode;
//! use esker_testing::client::EvmTx;
//! use esker_testing::primitives::{Address, U256};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let node = DevNode::builder().accounts(3).fixture("tests/fixture.json").start()?;
//! let (from, to) = (node.accounts()[0].c_address(), Address::repeat_byte(7));
//! node.isolated(|node| -> Result<(), Box<dyn std::error::Error>> {
//!     let tx = node.c().send(&EvmTx { from, to: Some(to), value: U256::from(5), ..EvmTx::default() })?;
//!     assert!(node.wait_receipt(tx)?.is_success);
//!     assert_eq!(node.c().balance(to)?, U256::from(5));
//!     Ok(())
//! })??;
//! // All chains are as before.
//! assert_eq!(node.c().balance(to)?, U256::ZERO);
//! # Ok(())
//! # }
//! ```
//!
//! Tests may share a node: `static NODE: LazyLock<DevNode> = LazyLock::new(|| DevNode::start().unwrap());` and
//! `let _back = NODE.snapshot().unwrap();` at the beginning of each. They take turns then.
//!
//! [`NodeBuilder`] and [`Node`] are below it, for nodes of other networks.

mod dev;
mod error;
pub mod funds;
mod log;
mod node;
mod snapshot;
pub mod until;

pub use dev::{Account, DevNode, DevNodeBuilder};
pub use error::Error;
/// Typed calls and a wallet.
pub use esker_client as client;
pub use node::{Node, NodeBuilder, StartingNode};
pub use snapshot::Snapshot;
pub use until::until;

/// Types of the C-Chain's values.
pub mod primitives {
    pub use alloy_primitives::{Address, B256, U256};
}

/// The example of the documentation compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing-with-esker.md")]
struct Page;
