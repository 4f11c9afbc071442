//! Names of calls, events and errors, which a tracer may show.

use std::fmt;

use alloy_primitives::{Address, B256};

use super::json;
use super::{TraceContext, TraceError};

/// What is known of a call, an event or an error by name. Texts have one line and a bounded length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallName {
    /// The contract.
    pub contract: Option<String>,
    /// The function, the event or the error, or what is known of it.
    pub item: Option<String>,
    /// Name and value of each argument; `None` if they can't be decoded.
    pub arguments: Option<Vec<(String, String)>>,
}

/// Knows names of calls, events and errors.
pub trait CallNames: fmt::Debug {
    /// Of a call, in the state at its begin.
    fn of_call(
        &self,
        to: Address,
        input: &[u8],
        context: &mut TraceContext<'_, '_>,
    ) -> Result<Option<CallName>, TraceError>;

    /// Of the creation of a contract with this code, from the data of the creation.
    fn of_creation(&self, code: &[u8], input: &[u8]) -> Option<CallName>;

    /// Of an event, in the state in which it is written.
    fn of_event(
        &self,
        address: Address,
        topics: &[B256],
        data: &[u8],
        context: &mut TraceContext<'_, '_>,
    ) -> Result<Option<CallName>, TraceError>;

    /// Of the custom error in the data of a revert.
    fn of_error(&self, data: &[u8]) -> Option<CallName>;
}

impl CallName {
    /// Bytes of the texts.
    pub(super) fn size(&self) -> usize {
        let Self { contract, item, arguments } = self;
        let texts = contract.iter().chain(item).map(String::len).sum::<usize>();
        let arguments = arguments.iter().flatten().map(|(name, value)| name.len() + value.len());
        texts + arguments.sum::<usize>()
    }

    /// Writes an object, whose member `kind` has the name of the item.
    pub(super) fn write(&self, kind: &str, out: &mut Vec<u8>) {
        out.push(b'{');
        self.write_members(kind, out);
        out.push(b'}');
    }

    /// Writes the members of that object.
    pub(super) fn write_members(&self, kind: &str, out: &mut Vec<u8>) {
        let Self { contract, item, arguments } = self;
        let texts = [("contract", contract), (kind, item)];
        for (name, text) in
            texts.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?)))
        {
            begin_member(name, out);
            json::string(out, text);
        }
        let Some(arguments) = arguments else { return };
        begin_member("arguments", out);
        out.push(b'[');
        for (at, (name, value)) in arguments.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b",{" } else { b"{" });
            begin_member("name", out);
            json::string(out, name);
            begin_member("value", out);
            json::string(out, value);
            out.push(b'}');
        }
        out.push(b']');
    }
}

/// Writes the name of an object's next member.
pub(super) fn begin_member(name: &str, out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    json::string(out, name);
    out.push(b':');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_objects() {
        let text = |name: &CallName| {
            let mut out = Vec::new();
            name.write("function", &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(&CallName::default()), "{}");
        let contract = Some("A{".to_owned());
        let only = CallName { contract, ..CallName::default() };
        assert_eq!(text(&only), r#"{"contract":"A{"}"#);
        let arguments = vec![("a".to_owned(), "1".to_owned()), (String::new(), "\"".to_owned())];
        let (item, arguments) = (Some("f".to_owned()), Some(arguments));
        let all = CallName { item, arguments, ..only };
        let written = r#"{"contract":"A{","function":"f","arguments":[{"name":"a","value":"1"},{"name":"","value":"\""}]}"#;
        assert_eq!((text(&all).as_str(), all.size()), (written, 6));
        let none = CallName { arguments: Some(Vec::new()), ..CallName::default() };
        assert_eq!(text(&none), r#"{"arguments":[]}"#);
    }
}
