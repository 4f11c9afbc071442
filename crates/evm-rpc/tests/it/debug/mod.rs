//! `debug` and `admin` at their boundary: the answers, the errors, the walks and the files.

mod accounts;
mod files;
mod otterscan;
mod paging;
mod parameters;
mod parity;
mod pruned;
mod trace_blocks;
mod trace_chain;
mod trace_files;
mod trace_parameters;
mod world;
