//! Methods that run code or send transactions, against the reference's recorded answers.

mod bad_input;
mod block_waits;
mod call_bundle;
mod call_many;
mod conditional;
mod crowd;
mod development;
mod failed_sends;
mod follow;
mod large_values;
mod matching;
mod next_block;
mod pool;
mod replacement;
mod replay;
mod running;
mod signing;
mod simulate;
mod sync;
mod turns;
mod world;
