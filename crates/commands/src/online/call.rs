//! `esker call`: any method.

use serde_json::{Map, Value};

use super::OnlineError;
use super::connection::Connection;
use super::target::C;

/// The call to make.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The method's full name.
    pub(super) method: String,
    /// Its parameters, as the user wrote them.
    pub(super) params: Vec<String>,
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
    let params = match method.contains('.') {
        true => named_params(params),
        false => listed_params(params),
    };
    let params = params.map_err(|(text, reason)| argument("PARAMS", &text, reason))?;
    let is_default = call.path.is_none() && chain.is_none() && !method.contains('.');
    let result: Value = match node.call(&path, method, params.clone()) {
        Err(error @ OnlineError::NotServed { .. }) if is_default => {
            let only = node.only_chain().ok_or(error)?;
            node.evm(&only, method, params)?
        }
        result => result?,
    };
    Ok(if as_json { format!("{result}\n") } else { format!("{result:#}\n") })
}

/// The reason why a word is no parameter.
type BadWord = (String, String);

/// The parameters of a method that takes a list: the list itself, or its members, one a word.
fn listed_params(words: &[String]) -> Result<Value, BadWord> {
    let mut members = words.iter().map(|word| member(word)).collect::<Result<Vec<_>, _>>()?;
    match members.as_slice() {
        [Value::Array(_)] => Ok(members.remove(0)),
        _ => Ok(Value::Array(members)),
    }
}

/// The parameters of a method that takes an object: the object itself, or its members, each a word `name=value`.
fn named_params(words: &[String]) -> Result<Value, BadWord> {
    if let [word] = words
        && word.trim_start().starts_with(['{', '['])
    {
        return member(word);
    }
    let mut members = Map::new();
    for word in words {
        let fault = |reason: &str| (word.clone(), reason.to_owned());
        let expected = "expected a JSON object, or words such as height=7";
        let (name, value) = word.split_once('=').ok_or_else(|| fault(expected))?;
        if members.insert(name.to_owned(), member(value)?).is_some() {
            return Err(fault("it was given twice"));
        }
    }
    Ok(Value::Object(members))
}

/// A word: JSON, or else its text, which needs no quotes.
fn member(word: &str) -> Result<Value, BadWord> {
    match serde_json::from_str(word) {
        Ok(value) => Ok(value),
        Err(error) if word.trim_start().starts_with(['{', '[', '"']) => {
            Err((word.to_owned(), format!("not JSON: {error}")))
        }
        Err(_) => Ok(Value::String(word.to_owned())),
    }
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
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_parameters() {
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        for (given, expected) in [
            (&[][..], json!([])),
            (&[r#"["0xa1","latest"]"#], json!(["0xa1", "latest"])),
            (&["0xa1", "latest"], json!(["0xa1", "latest"])),
            (&["5", "true"], json!([5, true])),
            (&["\"5\"", "null"], json!(["5", null])),
            (&[r#"{"to":"0xa1"}"#, "latest"], json!([{"to": "0xa1"}, "latest"])),
            (&[r#"{"to":"0xa1"}"#], json!([{"to": "0xa1"}])),
            (&["[1]", "[2]"], json!([[1], [2]])),
            (&["[[1]]"], json!([[1]])),
            (&["", "a b"], json!(["", "a b"])),
        ] {
            assert_eq!(listed_params(&words(given)), Ok(expected), "{given:?}");
        }
        for (given, expected) in [
            (&[][..], json!({})),
            (&[r#"{"height":"7"}"#], json!({"height": "7"})),
            (&["height=7"], json!({"height": 7})),
            (
                &["address=X-local1", "assetID=NAT"],
                json!({"address": "X-local1", "assetID": "NAT"}),
            ),
            (
                &["addresses=[\"a\"]", "a=b=c", "e="],
                json!({"addresses": ["a"], "a": "b=c", "e": ""}),
            ),
            (&["[{}]"], json!([{}])),
        ] {
            assert_eq!(named_params(&words(given)), Ok(expected), "{given:?}");
        }
        for (given, reason) in [("{", "not JSON"), ("[1", "not JSON"), ("\"a", "not JSON")] {
            assert!(listed_params(&words(&[given])).unwrap_err().1.contains(reason), "{given}");
        }
        for (given, reason) in [
            (&["7"][..], "words such as height=7"),
            (&["{"], "not JSON"),
            (&["a=1", "a=2"], "twice"),
            (&["{}", "a=1"], "words such as"),
            (&["a={"], "not JSON"),
        ] {
            assert!(named_params(&words(given)).unwrap_err().1.contains(reason), "{given:?}");
        }
    }

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
