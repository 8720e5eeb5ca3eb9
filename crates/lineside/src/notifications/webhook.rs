//! Notifications to an address that accepts JSON.
//!
//! The body has a `text`, which chats show as it is, and the notifications. If there is a secret, the request is signed
//! according to Standard Webhooks (standardwebhooks.com, 1.0).

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lineside_config::SigningKey;
use lineside_model::Secret;
use reqwest::redirect::Policy;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use super::notification::Notification;
use super::outbox::SEND_MAX;

/// Number of characters of a refusal's body that are logged.
const REFUSAL_CHARS_MAX: usize = 200;

/// A sender to one address.
#[derive(Debug)]
pub(super) struct WebhookSender {
    url: Secret,
    key: Option<WebhookSigningKey>,
    client: reqwest::Client,
}

struct WebhookSigningKey(hmac::Key);

impl std::fmt::Debug for WebhookSigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

#[derive(Serialize)]
struct WebhookBody<'a> {
    text: String,
    notifications: &'a [Notification],
}

impl WebhookSender {
    /// # Errors
    /// Returns an error if no client can be set up, for example without trusted certificates.
    pub(super) fn new(
        url: Secret,
        key: Option<&SigningKey>,
        user_agent: &str,
    ) -> anyhow::Result<Self> {
        // Redirects are off so that notifications go only to this address.
        let client = reqwest::Client::builder()
            .user_agent(user_agent)
            .redirect(Policy::none())
            .timeout(SEND_MAX)
            .build()?;
        let key =
            key.map(|key| WebhookSigningKey(hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes())));
        Ok(Self { url, key, client })
    }

    /// Sends the notifications as one request.
    ///
    /// # Errors
    /// Returns the reason why the request failed, without the address.
    pub(super) async fn post_notifications(
        &self,
        notifications: &[Notification],
        unix_seconds: i64,
    ) -> Result<(), String> {
        let text: Vec<String> = notifications.iter().map(Notification::to_plain_text).collect();
        let body = serde_json::to_string(&WebhookBody { text: text.join("\n"), notifications })
            .map_err(|error| error.to_string())?;
        let ids: Vec<&str> =
            notifications.iter().map(|notification| notification.id.as_str()).collect();
        let id = format!("{:032x}", xxh3_128(ids.join(" ").as_bytes()));
        let mut request = self
            .client
            .post(self.url.reveal())
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", unix_seconds);
        if let Some(WebhookSigningKey(key)) = &self.key {
            let tag = hmac::sign(key, format!("{id}.{unix_seconds}.{body}").as_bytes());
            let signature = format!("v1,{}", BASE64_STANDARD.encode(tag));
            request = request.header("webhook-signature", signature);
        }
        let reply = request.body(body).send().await;
        let mut reply = reply.map_err(|error| error.without_url().to_string())?;
        if reply.status().is_success() {
            return Ok(());
        }
        let status = reply.status();
        let reply_body = reply.chunk().await.ok().flatten().unwrap_or_default();
        let reply_body: String = String::from_utf8_lossy(&reply_body)
            .chars()
            .filter(|letter| !letter.is_control())
            .take(REFUSAL_CHARS_MAX)
            .collect();
        Err(format!("the response was {status}: {reply_body:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_matches_the_example_of_the_standard() {
        // The example of the standard's own reference.
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let key =
            hmac::Key::new(hmac::HMAC_SHA256, SigningKey::from_secret(&secret).unwrap().as_bytes());
        let text = "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{\"test\": 2432232314}";
        let tag = BASE64_STANDARD.encode(hmac::sign(&key, text.as_bytes()));
        assert_eq!(tag, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
