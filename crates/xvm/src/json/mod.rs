//! Rendering of transactions, outputs and blocks for the encoding `json` (x-chain.md 5).
