//! The C-Chain against the reference's known answers.

mod fees;
mod forms;
mod state;
mod trie;
mod vectors;
