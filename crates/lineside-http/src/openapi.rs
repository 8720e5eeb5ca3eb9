//! The API description, generated from the handlers. `finish` adds the parts that all operations share, `examples`
//! the values that exist on this server.

mod examples;
mod finish;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use bytes::Bytes;
use http::HeaderValue;
use lineside_sync::UnixMillis;
use parking_lot::Mutex;
use serde_json::Value;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder};

use self::examples::ApiExamples;
use super::reply::{ReplyPreferences, Representation};
use crate::app::App;

/// Address of the API description.
pub const PATH: &str = "/api/v1/openapi.json";
/// The HTTP methods that the description may list for an address.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Returns the description without any operation.
pub fn base_openapi_document() -> OpenApi {
    let licence = LicenseBuilder::new().name("MIT OR Apache-2.0").build();
    let info = InfoBuilder::new()
        .title("Lineside")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Public-transport feeds: the last good bytes, the state in other formats, and every \
             change as it happens. Times are RFC 3339, durations seconds, positions WGS 84 degrees. \
             Errors are `application/problem+json` with a `code`.",
        ))
        .license(Some(licence))
        .build();
    let token = Http::builder().scheme(HttpAuthScheme::Bearer);
    let token = token.description(Some("The token of `[admin]`; browsers use a session instead"));
    let admin = SecurityScheme::Http(token.build());
    let components = ComponentsBuilder::new().security_scheme("admin", admin).build();
    OpenApiBuilder::new().info(info).components(Some(components)).build()
}

/// The complete description of the API.
#[derive(Debug)]
pub struct ApiDescription {
    document: Value,
    /// The last filled form, which stays until the examples change.
    filled: Mutex<Option<Arc<DescriptionWithExamples>>>,
}

/// The description with examples from this server's data.
#[derive(Debug)]
pub struct DescriptionWithExamples {
    /// The OpenAPI document.
    pub document: Value,
    body: Bytes,
    examples: ApiExamples,
    filled_at: UnixMillis,
}

impl ApiDescription {
    /// Completes the description that is generated from the handlers' attributes.
    pub fn new(generated: &OpenApi) -> Self {
        let generated =
            serde_json::to_value(generated).expect("the API description always serializes");
        Self { document: finish::complete_document(generated), filled: Mutex::default() }
    }

    /// Returns the description without the examples of this server.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Returns the description with examples from the current data.
    pub async fn fill_examples(&self, app: &App) -> Arc<DescriptionWithExamples> {
        let examples = ApiExamples::for_app(app).await;
        let mut filled = self.filled.lock();
        if let Some(current) = filled.as_ref().filter(|current| current.examples == examples) {
            return Arc::clone(current);
        }
        let document = examples.fill_document(&self.document);
        let body = Bytes::from(format!("{document:#}"));
        let description =
            DescriptionWithExamples { document, body, examples, filled_at: app.now() };
        Arc::clone(filled.insert(Arc::new(description)))
    }
}

/// Serves the description with examples.
pub fn router(description: Arc<ApiDescription>) -> Router<App> {
    Router::new().route(
        PATH,
        get(move |State(app): State<App>, preferences: ReplyPreferences| async move {
            let filled = description.fill_examples(&app).await;
            let kind = HeaderValue::from_static("application/json");
            Representation::new(kind, filled.body.clone())
                .with_modified_time(Some(filled.filled_at), app.now())
                .into_reply(&preferences, &app)
                .await
        }),
    )
}
