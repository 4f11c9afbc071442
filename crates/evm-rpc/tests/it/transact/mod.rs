//! Methods that run code or send transactions, against the reference's recorded answers.

mod bad_input;
mod crowd;
mod follow;
mod large_values;
mod matching;
mod next_block;
mod pool;
mod replay;
mod running;
mod signing;
mod simulate;
mod sync;
mod turns;
mod world;
