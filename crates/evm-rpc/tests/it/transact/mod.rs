//! Methods that run code or send transactions, against the reference's recorded answers.

mod bad_input;
mod matching;
mod pool;
mod replay;
mod running;
mod signing;
mod simulate;
mod world;
