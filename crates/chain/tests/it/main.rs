//! The machine over toy chains: what is final, what is dropped, what a crash leaves.

mod bundles;
mod crash;
mod machine;
mod toy;
