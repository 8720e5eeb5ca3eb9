//! Search: stops by name, by nearness and by box; feeds, routes and stops for the catalog.

mod catalog;
mod fold;
mod stops;

pub(crate) use catalog::catalog;
pub use catalog::{CatalogHit, CatalogHitKind};
pub use stops::{StopHit, StopQuery};
pub(crate) use stops::{StopIndex, stops};
