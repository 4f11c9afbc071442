//! Compares what a command answers with what the page shows. The tests of documented answers compare the texts on a fresh node;
//! here the node is one that was used before, so that numbers and IDs are others. What counts is the form, and whether it is a
//! result or which error.

use serde_json::Value;

use esker_e2e::golden::matching::kind_fits;

/// Kinds of values that differ from node to node.
const KINDS: [&str; 7] = ["hash", "qty", "hex", "dec", "id", "nodeid", "time"];
/// Shortest text that may be a name elsewhere on the page.
const SHORTEST_NAME: usize = 16;

/// Texts of the pages, and what the node has instead.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<(String, String)>);

impl Names {
    /// A command with the names of the node.
    pub(super) fn to_real(&self, command: &str) -> String {
        let replace = |text: String, (shown, real): &(String, String)| text.replace(shown, real);
        self.0.iter().fold(command.to_owned(), replace)
    }

    /// The first difference; `None`: the answer has the form that the page shows. Names that differ are then noted.
    pub(super) fn difference(&mut self, shown: &Value, real: &Value) -> Option<String> {
        let mut found = Vec::new();
        let difference = differs(shown, real, "", &mut found);
        if difference.is_none() {
            // A page that was read before had other names.
            self.0.retain(|(shown, _)| !found.iter().any(|(other, _)| other == shown));
            self.0.extend(found);
        }
        difference
    }
}

fn differs(
    shown: &Value,
    real: &Value,
    at: &str,
    found: &mut Vec<(String, String)>,
) -> Option<String> {
    match (shown, real) {
        (Value::Object(shown), Value::Object(real)) if shown.keys().eq(real.keys()) => shown
            .iter()
            .zip(real.values())
            .find_map(|((name, shown), real)| differs(shown, real, &format!("{at}.{name}"), found)),
        (Value::Array(shown), Value::Array(real)) if shown.len() == real.len() => shown
            .iter()
            .zip(real)
            .find_map(|(shown, real)| differs(shown, real, &format!("{at}[]"), found)),
        (shown, real) if shown == real => None,
        (Value::String(shown), Value::String(real)) if are_alike(shown, real) => {
            if shown.len() >= SHORTEST_NAME {
                found.push((shown.clone(), real.clone()));
            }
            None
        }
        (shown, real) => Some(format!("{at}: the page shows {shown}, the node answers {real}")),
    }
}

/// Whether two texts are values of the same kind.
fn are_alike(shown: &str, real: &str) -> bool {
    let fits = |kind: &str, text: &str| kind_fits(kind, &Value::from(text)) == Ok(true);
    KINDS.iter().any(|kind| fits(kind, shown) && fits(kind, real))
}

#[test]
fn forms_are_compared() {
    use serde_json::json;
    let hash = |digit: &str| format!("0x{}", digit.repeat(64));
    let shown = json!({"result": {"hash": hash("a"), "number": "0x1", "status": "Accepted"}});
    let mut names = Names::default();
    let real = json!({"result": {"hash": hash("b"), "number": "0x7", "status": "Accepted"}});
    assert_eq!(names.difference(&shown, &real), None);
    assert_eq!(names.to_real(&hash("a")), hash("b"));
    for other in [
        json!({"error": {"code": 1}}),
        json!({"result": null}),
        json!({"result": {"hash": hash("b"), "number": "0x7", "status": "Processing"}}),
        json!({"result": {"hash": hash("b"), "number": 7, "status": "Accepted"}}),
    ] {
        assert!(names.difference(&shown, &other).is_some(), "{other}");
    }
}
