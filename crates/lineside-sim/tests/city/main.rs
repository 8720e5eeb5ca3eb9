//! The city from outside: one binary, so that the city is made once for all its tests.

mod base_map;
mod common;
mod origin;
mod realtime;
mod schedule;
