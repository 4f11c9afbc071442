//! getLogs and filters: bounds, and the life of a filter.

mod bounds;
mod gone;
mod life;
mod pending;
mod world;
