//! SIRI output of all networks, in the forms of the French profile (SIRI Lite, SOAP) and of the Nordic one.
//!
//! Every form of request becomes one [`SiriQuery`](query::SiriQuery), and every reply is one message of
//! `lineside_formats::siri`, so that the forms differ only in their envelopes.

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
