//! `esker call`: any method.

use serde_json::{Value, json};

use super::OnlineError;
use super::connection::Connection;
use super::target::C;

/// What to call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The method's full name.
    pub(super) method: String,
    /// Its parameters as JSON; none without.
    pub(super) params: Option<String>,
    /// The chain, for methods of a chain.
    pub(super) chain: Option<String>,
    /// The endpoint, instead of the one of the name.
    pub(super) path: Option<String>,
}

/// Executes the command and returns its output.
pub(super) fn run(
    node: &mut Connection,
    call: &Call,
    as_json: bool,
) -> Result<String, OnlineError> {
    let Call { method, params, chain, path } = call;
    let argument = |name, text: &str, reason: String| OnlineError::Argument {
        name,
        text: esker_primitives::excerpt(text).into_owned(),
        reason,
    };
    let path = match path.clone().or_else(|| endpoint(method, chain.as_deref())) {
        Some(path) if path.starts_with('/') => path,
        Some(path) => {
            return Err(argument("--path", &path, "expected a path such as /ext/info".to_owned()));
        }
        None => {
            let reason =
                "its name does not say where it is served: give --path, as in --path /ext/info";
            return Err(argument("METHOD", method, reason.to_owned()));
        }
    };
    let params: Value = match params {
        Some(text) => serde_json::from_str(text)
            .map_err(|error| argument("PARAMS", text, format!("not JSON: {error}")))?,
        None if method.contains('.') => json!({}),
        None => json!([]),
    };
    let result: Value = node.call(&path, method, params)?;
    Ok(if as_json { format!("{result}\n") } else { format!("{result:#}\n") })
}

/// The path that serves a method, by its namespace.
fn endpoint(method: &str, chain: Option<&str>) -> Option<String> {
    let of = |default| chain.unwrap_or(default);
    let Some((namespace, _)) = method.split_once('.') else {
        // Names of the EVM's methods have an underscore.
        return method.contains('_').then(|| format!("/ext/bc/{}/rpc", of(C)));
    };
    Some(match namespace {
        "xvm" | "avm" | "dev" => format!("/ext/bc/{}", of("X")),
        "wallet" => format!("/ext/bc/{}/wallet", of("X")),
        "nat" | "avax" => format!("/ext/bc/{}/nat", of(C)),
        "platform" => "/ext/bc/P".to_owned(),
        "index" => format!("/ext/index/{}/block", of("X")),
        "admin" => match chain {
            Some(chain) => format!("/ext/bc/{chain}/admin"),
            None => "/ext/admin".to_owned(),
        },
        "info" | "health" | "keystore" => format!("/ext/{namespace}"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_of_methods() {
        for (method, chain, path) in [
            ("xvm.getHeight", None, Some("/ext/bc/X")),
            ("avm.getHeight", Some("Y"), Some("/ext/bc/Y")),
            ("dev.getTime", None, Some("/ext/bc/X")),
            ("wallet.issueTx", None, Some("/ext/bc/X/wallet")),
            ("evm_blockNumber", None, Some("/ext/bc/C/rpc")),
            ("eth_blockNumber", Some("D"), Some("/ext/bc/D/rpc")),
            ("admin_exportChain", None, Some("/ext/bc/C/rpc")),
            ("nat.version", None, Some("/ext/bc/C/nat")),
            ("platform.getHeight", None, Some("/ext/bc/P")),
            ("index.isAccepted", None, Some("/ext/index/X/block")),
            ("info.uptime", None, Some("/ext/info")),
            ("health.health", None, Some("/ext/health")),
            ("keystore.listUsers", None, Some("/ext/keystore")),
            ("admin.getConfig", None, Some("/ext/admin")),
            ("admin.getVMConfig", Some("C"), Some("/ext/bc/C/admin")),
            ("rpc.discover", None, None),
            ("getHeight", None, None),
            ("", None, None),
        ] {
            assert_eq!(endpoint(method, chain).as_deref(), path, "{method} {chain:?}");
        }
    }
}
