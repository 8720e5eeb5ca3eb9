//! Registration of an address whose last segment has an extension, such as `/gtfs/{feed}.zip`: the router matches whole
//! segments only, the API description shows the extension.

use axum::Router;
use axum::routing::MethodRouter;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

/// Registers `handler` at `pattern` and documents it as `documented`, whose own handlers are the ones that `handler`
/// calls.
pub fn document_route<S>(
    pattern: &'static str,
    handler: MethodRouter<S>,
    documented: impl IntoIterator<Item = UtoipaMethodRouter<S>>,
) -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    let mut router = OpenApiRouter::from(Router::new().route(pattern, handler));
    let document = router.get_openapi_mut();
    for (schemas, paths, _) in documented {
        document.paths.paths.extend(paths.paths);
        document.components.get_or_insert_default().schemas.extend(schemas);
    }
    router
}
