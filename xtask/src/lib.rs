//! Chores of the repository: `cargo xtask test`, `cargo xtask ci`, `cargo xtask tidy`, `cargo xtask docs`, `cargo xtask
//! goldens`, `cargo xtask shell-files`, `cargo xtask data-folder`, `cargo xtask plots`, `cargo xtask packages`.
//!
//! Depends on none of our crates, so that it builds in seconds and can check a workspace that does not
//! compile. [`tidy`] is an ordinary test of this crate as well.

pub mod browsers;
pub mod cargo_deb;
pub mod data_folder;
pub mod docs;
pub mod goldens;
pub mod node;
pub mod packages;
pub mod plots;
pub mod python;
pub mod screenshot;
pub mod shell_files;
pub mod source;
pub mod test;
pub mod tidy;
pub mod workspace;
