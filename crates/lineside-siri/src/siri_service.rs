//! The state of the SIRI addresses: the server, the cached answers, and the subscriptions.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRef;
use lineside_http::app::App;

use super::answer_cache::SiriReplyCache;
use super::subscriptions::SubscriptionRegistry;

/// A handle on the SIRI output that is cheap to clone; it dereferences to the server.
#[derive(Clone, Debug)]
pub struct SiriService {
    app: App,
    answers: Arc<SiriReplyCache>,
    subscriptions: Arc<SubscriptionRegistry>,
}

impl SiriService {
    /// Creates the service without subscriptions.
    pub fn new(app: App) -> Self {
        let subscriptions = SubscriptionRegistry::new(Arc::clone(app.siri_subscription_count()));
        Self { app, answers: Arc::default(), subscriptions: Arc::new(subscriptions) }
    }

    /// Returns the cached answers and the positions of requestors.
    pub(crate) fn reply_cache(&self) -> &SiriReplyCache {
        &self.answers
    }

    /// Returns the subscriptions of other systems.
    pub(crate) fn subscriptions(&self) -> &SubscriptionRegistry {
        &self.subscriptions
    }

    /// Drops expired answers. `now` is the clock's monotonic time.
    pub fn evict_expired(&self, now: Duration) {
        self.answers.evict_expired(now);
    }
}

impl Deref for SiriService {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

impl FromRef<SiriService> for App {
    fn from_ref(service: &SiriService) -> App {
        service.app.clone()
    }
}
