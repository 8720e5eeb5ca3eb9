//! SIRI: what networks know, in the forms of the French profile (SIRI Lite, SOAP) and of the Nordic one.
//!
//! Every way of asking becomes one [`Asked`](asked::Asked), and every answer is one message of `lineside_formats::siri`, so
//! that the forms differ in nothing but their envelopes.

mod answer;
mod asked;
mod desk;
mod fault;
mod form;
mod inbox;
mod lite;
mod nordic;
mod scene;
mod services;
mod subscriptions;

use utoipa_axum::router::OpenApiRouter;

pub(crate) use self::desk::Desk;
pub(crate) use self::subscriptions::Subscriptions;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(lite::routes())
        .merge(nordic::routes())
        .merge(services::routes())
        .merge(subscriptions::routes())
        .merge(inbox::routes())
}
