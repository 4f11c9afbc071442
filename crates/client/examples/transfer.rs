//! Builds and signs a transfer on the X-Chain and prints it: its ID, then its text for `xvm.issueTx`.
//!
//! ```text
//! cargo run -p esker-client --example transfer -- ADDRESS NANO-UNITS [COUNT] [NODE]
//! ```
//!
//! It spends what the well-known key of the development networks owns. With a count, each transaction spends the
//! change of the one before, as `wallet.issueTx` allows before any of them is accepted. Nothing is sent: the same
//! arguments on the same chain give the same bytes.

use std::error::Error;

use esker_client::{ChainParams, Wallet, XvmClient};
use esker_primitives::{address, hexfmt};

/// Holds most of the native asset on `local` and `dev`. Public, therefore worthless.
const WELL_KNOWN_KEY: &str = "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN";

#[expect(clippy::print_stdout, reason = "its result")]
fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [to, amount, rest @ ..] = args.as_slice() else {
        return Err("which address, how many nano-units?".into());
    };
    let (_, _, to) = address::split(to)?;
    let to = <[u8; 20]>::try_from(to.as_slice()).map_err(|_| "an address has 20 bytes")?.into();
    let count = rest.first().map_or(Ok(1), |text| text.parse())?;
    let node = rest.get(1).map_or("127.0.0.1:9650", String::as_str).parse()?;

    let params = ChainParams::fetch(node, "X", "NAT")?;
    let mut wallet = Wallet::new(params, WELL_KNOWN_KEY.parse()?, Vec::new(), 0);
    wallet.add_utxos(XvmClient::new(node, "X").walk_utxos(&[wallet.address()], 1024, None)?);
    for _ in 0..count {
        let outputs = vec![Wallet::output(wallet.params().fee_asset_id, amount.parse()?, to)];
        let tx = wallet.base_tx(outputs, b"hello")?;
        println!("{}\n{}", tx.id(), hexfmt::encode_checked(tx.bytes()));
        wallet.apply(&tx);
    }
    Ok(())
}
