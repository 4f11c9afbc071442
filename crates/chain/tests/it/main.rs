//! The machine over toy chains: what is final, what is dropped, what a crash leaves.

mod addresses;
mod bundles;
mod crash;
mod machine;
mod toy;
