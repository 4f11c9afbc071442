//! A client of the node: typed calls, a wallet that builds and signs, and a blocking HTTP/1.1 client under both.
//!
//! For users' tools and for tests. It is not a library for servers: one connection, no retries, TLS by the caller's
//! [`Layer`]. It checks nothing that the node checks, so that tests can send what is wrong. It checks what the node says
//! of network and fees, which a wallet would sign ([`Expected`], [`MAX_FEE`]). Start with [`XvmClient`] for calls and
//! [`Wallet`] for transactions; [`EvmClient`] has calls of the C-Chain, [`DevClient`] the controls of `esker dev`:
//!
//! ```no_run
//! use esker_client::{ChainParams, Wallet, XvmClient};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let node = "127.0.0.1:9650".parse()?;
//! let key = "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN".parse()?;
//! let mut wallet = Wallet::new(ChainParams::fetch(node, "X", "NAT")?, key, Vec::new(), 0);
//! let mut x = XvmClient::new(node, "X");
//! wallet.add_utxos(x.walk_utxos(&[wallet.address()], 1024, None)?);
//! let fee_asset = wallet.params().fee_asset_id;
//! let tx = wallet.base_tx(vec![Wallet::output(fee_asset, 1, wallet.owner())], b"hello")?;
//! let id = x.issue_tx(&tx)?;
//! # let _ = id;
//! # Ok(())
//! # }
//! ```

pub mod dev;
pub mod evm;
pub mod http;
mod quantity;
pub mod rpc;
pub mod wallet;
pub mod xvm;

pub use dev::{DevClient, SnapshotId};
pub use evm::{EvmClient, EvmTx};
pub use http::{HttpClient, HttpError, HttpReply, Layer, Layered, TimedStream};
pub use rpc::{CallError, RpcClient};
pub use wallet::{ChainParams, Coins, Expected, MAX_FEE, ParamsError, Wallet, WalletError};
pub use xvm::XvmClient;
