//! The properties of a method that are known without calling it.

use std::sync::Arc;

/// The method that describes an endpoint, as OpenRPC names it in every dialect.
pub(crate) const DISCOVER: &str = "rpc.discover";

/// The properties of a method that are known without calling it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodInfo {
    /// The canonical namespace.
    pub namespace: &'static str,
    /// Other names of the namespace.
    pub namespace_aliases: Arc<[&'static str]>,
    /// The canonical name, without the namespace.
    pub name: &'static str,
    /// Other names of the method.
    pub aliases: Vec<&'static str>,
    /// The release of the reference in which the method became deprecated, such as `v1.9.12`.
    pub deprecated_since: Option<&'static str>,
    /// The replacement of a deprecated method.
    pub instead: Option<&'static str>,
    /// Whether web pages of untrusted origins are refused ([`crate::MethodTable::trusted_callers_only`]).
    pub trusted_callers_only: bool,
    /// Units that a call takes of what its address may use ([`crate::work::RateLimitConfig`]).
    pub cost: u32,
}

impl MethodInfo {
    /// The canonical name with its namespace, as clients call it: `xvm.getHeight`, `evm_chainId`. `separator` is that of
    /// the dialect.
    #[must_use]
    pub fn full_name(&self, separator: char) -> String {
        let Self { namespace, name, .. } = self;
        let full = format!("{namespace}.{name}");
        // OpenRPC has one name for it in all dialects.
        if full == DISCOVER { full } else { format!("{namespace}{separator}{name}") }
    }
}
