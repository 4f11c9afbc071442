//! Compares a documented answer with a real one.

use serde_json::Value;

use crate::golden::matching::{kind_fits, short};

/// Shortest text that is replaced by its real counterpart elsewhere. Shorter texts are not names of anything.
const SHORTEST_NAME: usize = 16;

/// Members of an answer that differ from node to node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Varying(Vec<(String, String)>);

/// Documented texts and their counterparts of this node.
#[derive(Clone, Debug, Default)]
pub struct Bindings(Vec<(String, String)>);

impl Varying {
    /// Reads `MEMBER=KIND MEMBER=KIND ...`; `None` if a word has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let rule = |word: &str| {
            let (member, kind) = word.split_once('=')?;
            Some((member.to_owned(), kind.to_owned()))
        };
        text.split_whitespace().map(rule).collect::<Option<Vec<_>>>().map(Self)
    }

    fn kind(&self, at: &[String]) -> Option<&str> {
        let fits = |member: &str| {
            let parts: Vec<&str> = member.split('.').collect();
            parts.len() == at.len()
                && parts.iter().zip(at).all(|(part, at)| *part == "*" || part == at)
        };
        self.0.iter().find(|(member, _)| fits(member)).map(|(_, kind)| kind.as_str())
    }

    /// The first difference; `None` if the answers agree. The varying texts are then bound.
    pub fn difference(
        &self,
        documented: &Value,
        real: &Value,
        bindings: &mut Bindings,
    ) -> Option<String> {
        let mut found = Vec::new();
        let wrong = self.differs(documented, real, &mut Vec::new(), &mut found);
        if wrong.is_none() {
            bindings.0.extend(found);
        }
        wrong
    }

    fn differs(
        &self,
        documented: &Value,
        real: &Value,
        at: &mut Vec<String>,
        found: &mut Vec<(String, String)>,
    ) -> Option<String> {
        if let Some(kind) = self.kind(at) {
            return both_fit(kind, documented, real, &at.join("."), found);
        }
        let mut inside = |name: String, documented: &Value, real: &Value| {
            at.push(name);
            let wrong = self.differs(documented, real, at, found);
            at.pop();
            wrong
        };
        match (documented, real) {
            (Value::Object(documented), Value::Object(real))
                if documented.keys().eq(real.keys()) =>
            {
                documented
                    .iter()
                    .zip(real.values())
                    .find_map(|((name, documented), real)| inside(name.clone(), documented, real))
            }
            (Value::Array(documented), Value::Array(real)) if documented.len() == real.len() => {
                documented.iter().zip(real).enumerate().find_map(|(index, (documented, real))| {
                    inside(index.to_string(), documented, real)
                })
            }
            _ => (documented != real).then(|| {
                format!("{}: documented {}, real {}", at.join("."), short(documented), short(real))
            }),
        }
    }
}

fn both_fit(
    kind: &str,
    documented: &Value,
    real: &Value,
    at: &str,
    found: &mut Vec<(String, String)>,
) -> Option<String> {
    for value in [documented, real] {
        match kind_fits(kind, value) {
            Ok(true) => {}
            Ok(false) => return Some(format!("{at}: {} is no {kind}", short(value))),
            Err(why) => return Some(format!("{at}: {why}")),
        }
    }
    if let (Value::String(documented), Value::String(real)) = (documented, real)
        && documented != real
        && documented.len() >= SHORTEST_NAME
    {
        found.push((documented.clone(), real.clone()));
    }
    None
}

impl Bindings {
    /// The text with this node's names.
    pub fn to_real(&self, text: &str) -> String {
        self.0
            .iter()
            .fold(text.to_owned(), |text, (documented, real)| text.replace(documented, real))
    }

    /// The text with the names of the page.
    pub fn to_documented(&self, text: &str) -> String {
        self.0
            .iter()
            .fold(text.to_owned(), |text, (documented, real)| text.replace(real, documented))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const A: &str = "2R2UY2pZMQr8nR9ywCdqn97Lp5a6hceqtLXkag6vH7KQSVvmst";
    const B: &str = "2MAwKfkJxa13beksESEfRTCp54trsYnHmzFM7QAo9S7pW1vTy2";

    #[test]
    fn varying_values_are_bound() {
        let varying = Varying::parse("result.*.id=id").unwrap();
        let mut bindings = Bindings::default();
        let (documented, real) = (json!({"result": [{"id": A}]}), json!({"result": [{"id": B}]}));
        assert_eq!(varying.difference(&documented, &real, &mut bindings), None);
        assert_eq!(bindings.to_real(&format!("<{A}>")), format!("<{B}>"));
        assert_eq!(bindings.to_documented(&format!("<{B}>")), format!("<{A}>"));
    }

    #[test]
    fn differences() {
        let varying = Varying::parse("result.n=int").unwrap();
        for (documented, real, same) in [
            (json!({"result": {"n": 1}}), json!({"result": {"n": 2}}), true),
            (json!({"result": {"n": 1}}), json!({"result": {"n": "2"}}), false),
            (json!({"result": {"n": 1}}), json!({"result": {"n": 1, "m": 1}}), false),
            (json!({"result": {"n": 1, "m": 1}}), json!({"result": {"n": 1, "m": 2}}), false),
            (json!([1]), json!([1, 1]), false),
        ] {
            let wrong = varying.difference(&documented, &real, &mut Bindings::default());
            assert_eq!(wrong.is_none(), same, "{documented} {real}");
        }
        assert_eq!(Varying::parse("result.n"), None);
    }
}
