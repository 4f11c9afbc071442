//! End-to-end tests: each starts nodes of its own on free ports and temporary folders.

mod assets;
mod clients;
mod corpus;
mod crash;
mod docs;
mod golden;
mod methods;
mod paging;
mod support;
mod two_chains;
