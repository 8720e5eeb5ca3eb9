//! Search in one schedule: stops by name, distance or box, and routes by name.

pub(crate) mod fold;
pub(crate) mod routes;
mod spelling;
pub(crate) mod stops;

pub(crate) use self::stops::StopIndex;
pub use self::stops::{StopPage, StopQuery};
