//! The owners of tables.

/// The owner of tables. Each chain has a scope, assigned when it is first started ([`crate::meta::scope`]);
/// [`Scope::NODE`] has the node-wide tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(pub u16);

impl Scope {
    /// The node's own tables. Each crate has a range of tags, so that tables never collide: 0x00-0x0f this crate,
    /// 0x10-0x1f the machine over the chains, 0x20-0x2f shared memory, 0x30-0x3f keystore, 0x40-0x4f the node.
    pub const NODE: Self = Self(0);
}
