//! SIRI: what networks know, in the forms of the French profile (SIRI Lite, SOAP) and of the Nordic one.
//!
//! Every way of asking becomes one [`Asked`](asked::SiriQuery), and every answer is one message of `lineside_formats::siri`, so
//! that the forms differ in nothing but their envelopes.

mod deliveries;
mod query;
mod answer_cache;
mod fault;
mod encoding;
mod inbox;
mod lite;
mod nordic;
mod snapshot;
mod services;
mod subscriptions;

use utoipa_axum::router::OpenApiRouter;

pub(crate) use self::answer_cache::AnswerCache;
pub(crate) use self::subscriptions::SubscriptionRegistry;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(lite::routes())
        .merge(nordic::routes())
        .merge(services::routes())
        .merge(subscriptions::routes())
        .merge(inbox::routes())
}
