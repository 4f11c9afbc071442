//! Who this node is among others: a TLS certificate, whose hash is its name, and a BLS key.
