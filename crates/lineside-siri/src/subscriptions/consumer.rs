//! The consumer of a subscription: an address given by a client, so it must be a public one unless the operator or an
//! admin trusts it.

use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::header;
use lineside_fetch::PublicOnlyHttpClient;
use reqwest::redirect::Policy;
use url::Url;

use super::super::encoding::SiriEncoding;
use crate::SiriService;

/// Timeout of a connection to a consumer.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Longest silence of a consumer.
const READ_MAX: Duration = Duration::from_secs(15);
/// Timeout of a whole request to a consumer.
const SEND_MAX: Duration = Duration::from_secs(60);

/// The HTTP clients for consumers, created on first use.
#[derive(Debug, Default)]
pub(super) struct ConsumerHttpClients {
    public: OnceLock<Option<PublicOnlyHttpClient>>,
    any: OnceLock<Option<reqwest::Client>>,
}

/// The target of a subscription's deliveries.
#[derive(Clone, Debug)]
pub(super) struct ConsumerTarget {
    pub(super) url: Url,
    /// True if the address may be a private one.
    pub(super) is_trusted: bool,
    pub(super) encoding: SiriEncoding,
}

fn http_client_builder(siri: &SiriService) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(&siri.config().server.user_agent)
        .redirect(Policy::none())
        .connect_timeout(CONNECT_MAX)
        .read_timeout(READ_MAX)
        .timeout(SEND_MAX)
}

impl ConsumerHttpClients {
    fn public_address_client(&self, siri: &SiriService) -> Option<&PublicOnlyHttpClient> {
        self.public
            .get_or_init(|| {
                PublicOnlyHttpClient::new_without_redirects(http_client_builder(siri)).ok()
            })
            .as_ref()
    }

    fn any_address_client(&self, siri: &SiriService) -> Option<&reqwest::Client> {
        self.any.get_or_init(|| http_client_builder(siri).build().ok()).as_ref()
    }

    /// Sends a message; returns true if the consumer accepted it.
    pub(super) async fn send_message(
        &self,
        siri: &SiriService,
        consumer: &ConsumerTarget,
        body: Bytes,
    ) -> bool {
        let request = match consumer.is_trusted {
            true => self.any_address_client(siri).map(|client| client.post(consumer.url.clone())),
            false => self
                .public_address_client(siri)
                .and_then(|client| client.build_post_request(&consumer.url).ok()),
        };
        let Some(request) = request else { return false };
        let mut request = request.header(header::CONTENT_TYPE, consumer.encoding.content_type());
        if consumer.encoding == SiriEncoding::Soap {
            // SOAP 1.1 requires the header; an empty one means that the address is the intent.
            request = request.header("soapaction", "\"\"");
        }
        let request = request.body(body);
        match request.send().await {
            Ok(response) => response.status().is_success(),
            Err(error) => {
                let error = error.without_url();
                tracing::debug!(%error, "a SIRI consumer did not accept a message");
                false
            }
        }
    }
}
