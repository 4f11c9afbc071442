//! A table of the committed state, as its chain declares it.

/// A table of the committed state, as its chain declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateTable {
    pub(super) is_node_wide: bool,
    pub(super) tag: u8,
    pub(super) key_len: Option<usize>,
}

impl StateTable {
    /// A table of the chain's own scope.
    #[must_use]
    pub const fn of_chain(tag: u8) -> Self {
        Self { is_node_wide: false, tag, key_len: None }
    }

    /// A table of the node's scope. Each chain that uses it declares it.
    #[must_use]
    pub const fn node_wide(tag: u8) -> Self {
        Self { is_node_wide: true, tag, key_len: None }
    }

    /// Only the rows whose key, without scope and tag, has this length: another table shares the tag.
    #[must_use]
    pub const fn with_key_len(self, key_len: usize) -> Self {
        Self { key_len: Some(key_len), ..self }
    }
}
