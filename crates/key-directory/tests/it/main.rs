//! Key files and folders of them.

mod directory;
mod files;
mod format;
mod support;
