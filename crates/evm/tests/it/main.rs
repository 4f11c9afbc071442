//! The C-Chain against the reference's known answers.

mod fees;
mod forms;
mod trie;
mod vectors;
