//! Registration of an address whose last segment has an extension, such as `/gtfs/{feed}.zip`: the router matches whole
//! segments only, the API description shows the extension.

use axum::Router;
use axum::routing::MethodRouter;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::app::App;

/// Registers `handler` at `pattern` and documents it as `documented`, whose own handlers are the ones that `handler`
/// calls.
pub(super) fn document_route(
    pattern: &'static str,
    handler: MethodRouter<App>,
    documented: impl IntoIterator<Item = UtoipaMethodRouter<App>>,
) -> OpenApiRouter<App> {
    let mut router = OpenApiRouter::from(Router::new().route(pattern, handler));
    let document = router.get_openapi_mut();
    for (schemas, paths, _) in documented {
        document.paths.paths.extend(paths.paths);
        document.components.get_or_insert_default().schemas.extend(schemas);
    }
    router
}
