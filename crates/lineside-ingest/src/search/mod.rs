//! Search: stops by name, distance or box; feeds, routes and stops for the catalog.

mod catalog;
mod fold;
mod routes;
mod spelling;
mod stops;

pub(crate) use catalog::search_catalog;
pub use catalog::{CatalogHit, CatalogHitKind, CatalogResults};
pub use stops::{StopHit, StopPage, StopQuery};
pub(crate) use stops::{StopIndex, search_stops};
