//! The crate from outside: messages in, states and publications out.

mod convergence;
mod departures;
mod exports;
mod golden;
mod normalize;
mod search;
mod support;
