//! `esker address`: the forms of an address. No node is called.

use std::fmt::Write as _;
use std::path::PathBuf;

use alloy_primitives::Address;
use esker_primitives::keys::address_of;
use esker_primitives::{ShortId, address, network};
use esker_settings::networks::Preset;
use secp256k1::PublicKey;
use serde_json::json;

use super::OnlineError;
use super::key::{key_of_environment, read_key_file};
use super::target::{C, Target};

/// The thing whose forms are shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms {
    /// An address in one of its forms.
    pub(super) address: Option<String>,
    /// A public key in hex.
    pub(super) public_key: Option<String>,
    /// A file with a private key.
    pub(super) private_key_file: Option<PathBuf>,
    /// The hex digits are the bytes of an X- or C- address, and no EVM address.
    pub(super) is_bytes: bool,
    /// Name or number of the network.
    pub(super) network: String,
}

/// The known forms of an address.
struct Known {
    prefix: String,
    short: Option<ShortId>,
    evm: Option<Address>,
}

/// Executes the command and returns its output.
pub(super) fn run(forms: &Forms, as_json: bool) -> Result<String, OnlineError> {
    let known = known(forms)?;
    let Known { prefix, short, evm } = &known;
    let [x, c] = ["X", C].map(|alias| short.map(|short| address::format(alias, prefix, &short)));
    let bytes = short.map(|short| format!("0x{}", hex::encode(short.as_bytes())));
    let evm = evm.map(|evm| evm.to_string());
    if as_json {
        return Ok(format!("{}\n", json!({"x": x, "c": c, "bytes": bytes, "evm": evm})));
    }
    let mut out = String::new();
    for (name, form) in [("X", &x), ("C", &c), ("bytes", &bytes), ("EVM", &evm)] {
        if let Some(form) = form {
            let _written = writeln!(out, "{name:<6} {form}");
        }
    }
    match (&x, &evm) {
        (Some(_), None) => out.push_str("The EVM address of the same key is another hash: it needs the key.\n"),
        (None, Some(_)) => out.push_str(
            "The X- and C- addresses of the same key are another hash: they need the key. With --bytes the digits are \
             taken for the bytes of these.\n",
        ),
        _ => {}
    }
    Ok(out)
}

fn known(forms: &Forms) -> Result<Known, OnlineError> {
    let argument = |name, text: &str, reason: &str| OnlineError::Argument {
        name,
        text: esker_primitives::excerpt(text).into_owned(),
        reason: reason.to_owned(),
    };
    let preset = Preset::from_name(&forms.network).map(Preset::id);
    let id = preset.or_else(|| network::id(&forms.network)).ok_or_else(|| {
        argument("--network", &forms.network, "expected main, test, local or a number")
    })?;
    let prefix = network::hrp(id).to_owned();
    if let Some(text) = &forms.address {
        return Ok(match Target::parse("ADDRESS", text)? {
            Target::Evm(address) if forms.is_bytes => {
                Known { prefix, short: Some(address.into_array().into()), evm: None }
            }
            Target::Evm(address) => Known { prefix, short: None, evm: Some(address) },
            Target::Bech32 { prefix, address, .. } => {
                Known { prefix, short: Some(address), evm: None }
            }
        });
    }
    let key = match (&forms.public_key, &forms.private_key_file) {
        (Some(text), _) => {
            let digits = text.strip_prefix("0x").unwrap_or(text);
            let parsed =
                hex::decode(digits).ok().and_then(|bytes| PublicKey::from_slice(&bytes).ok());
            parsed.ok_or_else(|| {
                argument("--public-key", text, "expected the 33 or 65 bytes of a public key in hex")
            })?
        }
        (None, file) => {
            let key = match file {
                Some(path) => Some(read_key_file(path)?),
                None => key_of_environment()?,
            };
            let key = key.ok_or_else(|| {
                let reason =
                    "give an address, --public-key, --private-key-file or ESKER_PRIVATE_KEY";
                argument("ADDRESS", "missing", reason)
            })?;
            PublicKey::from_slice(key.public_key().as_bytes())
                .map_err(|error| OnlineError::Key(error.to_string()))?
        }
    };
    let short = address_of(&key.serialize());
    let evm = Address::from_raw_public_key(&key.serialize_uncompressed()[1..]);
    Ok(Known { prefix, short: Some(short), evm: Some(evm) })
}
