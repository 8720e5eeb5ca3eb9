//! Search in one schedule: stops by name, distance or box, and routes by name.

pub mod fold;
pub mod routes;
mod spelling;
pub mod stops;

pub use self::fold::{fold_for_search, matches_query};
pub use self::stops::StopAndRouteSearchIndex;
pub use self::stops::{StopSearchPage, StopSearchQuery};
