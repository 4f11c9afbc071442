//! The two naming modes: the reference's names as recorded, and the specification's.

use regex_lite::{Captures, Regex};

/// The names that requests and expectations use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// `avm`, `avax`, `eth_`: as recorded.
    Brand,
    /// `xvm`, `nat`, `evm_`: the names of the specification.
    Specification,
}

impl Names {
    /// Both modes.
    pub const ALL: [Self; 2] = [Self::Brand, Self::Specification];

    /// The text of a line in this mode.
    pub fn apply(self, text: &str) -> String {
        match self {
            Self::Brand => text.to_owned(),
            Self::Specification => to_specification(text),
        }
    }
}

/// Replaces the reference's names by the specification's, in paths and messages.
fn to_specification(text: &str) -> String {
    let regex = |pattern: &str| Regex::new(pattern).expect("a pattern of this file");
    let text = regex(r#"("method"\s*:\s*")avm\."#).replace_all(text, "${1}xvm.");
    let text = regex(r#"("method"\s*:\s*")avax\."#).replace_all(&text, "${1}nat.");
    let text = regex(r#"("method"\s*:\s*")eth_"#).replace_all(&text, "${1}evm_");
    let text = text
        .replace("nat.exportAVAX", "nat.exportNative")
        .replace("nat.importAVAX", "nat.importNative")
        .replace("\"avm.", "\"xvm.")
        .replace("\"avax.", "\"nat.")
        .replace("method eth_", "method evm_")
        .replace("\"eth_subscription\"", "\"evm_subscription\"")
        // A refusal quotes the method as the client sent it.
        .replace("ill-formed: \\\"eth_", "ill-formed: \\\"evm_");
    // The second alternative also takes the letter that follows: this engine has no look-ahead.
    let text = regex(r"\bAvm\.|\bavm\.([A-Z])").replace_all(&text, |m: &Captures<'_>| {
        m.get(1).map_or_else(|| "Xvm.".to_owned(), |letter| format!("xvm.{}", letter.as_str()))
    });
    text.replace("/ext/bc/C/avax", "/ext/bc/C/nat")
        .replace("/ext/vm/avm", "/ext/vm/xvm")
        .replace("service eth", "service evm")
        .replace("in eth namespace", "in evm namespace")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renaming() {
        for (brand, specification) in [
            (r#"{"method":"avm.getTx"}"#, r#"{"method":"xvm.getTx"}"#),
            (r#"{"method": "avax.exportAVAX"}"#, r#"{"method": "nat.exportNative"}"#),
            (r#"can't find method \"avm.GetTx\""#, r#"can't find method \"xvm.GetTx\""#),
            (r#"find service avm.X and Avm."#, r#"find service xvm.X and Xvm."#),
            (r#"ill-formed: \"eth_blockNumber\""#, r#"ill-formed: \"evm_blockNumber\""#),
            ("/ext/vm/avm", "/ext/vm/xvm"),
            ("/ext/bc/avm", "/ext/bc/avm"),
            (r#"{"vm":"avm","asset":"AVAX"}"#, r#"{"vm":"avm","asset":"AVAX"}"#),
        ] {
            assert_eq!(Names::Specification.apply(brand), specification);
            assert_eq!(Names::Brand.apply(brand), brand);
        }
    }
}
