//! Notifications by mail.

use lettre::message::header::{Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, header::ContentType};
use lettre::transport::smtp::authentication::Credentials;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use lineside_config::{SmtpConfig, SmtpSecurity};

use super::notification::Notification;
use super::outbox::SEND_MAX;

/// A sender to one mailbox.
#[derive(Debug)]
pub(super) struct MailSender {
    to: Mailbox,
    from: Mailbox,
    server: AsyncSmtpTransport<Tokio1Executor>,
}

/// Marks mails as automatic, so that no autoresponder replies (RFC 3834).
#[derive(Clone)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}

impl MailSender {
    /// # Errors
    /// Returns an error if the server's name is invalid.
    pub(super) fn new(to: Mailbox, smtp: &SmtpConfig) -> anyhow::Result<Self> {
        type Transport = AsyncSmtpTransport<Tokio1Executor>;
        let builder = match smtp.security {
            SmtpSecurity::StartTls => Transport::starttls_relay(&smtp.host)?,
            SmtpSecurity::Tls => Transport::relay(&smtp.host)?,
            SmtpSecurity::None => Transport::builder_dangerous(&smtp.host),
        };
        let mut builder = builder.port(smtp.port).timeout(Some(SEND_MAX));
        if let Some((user, password)) = &smtp.login {
            let password = password.reveal().to_owned();
            builder = builder.credentials(Credentials::new(user.clone(), password));
        }
        Ok(Self { to, from: smtp.from.clone(), server: builder.build() })
    }

    /// Sends the notifications as one mail.
    ///
    /// # Errors
    /// Returns the reason why the mail was not sent.
    pub(super) async fn send_as_mail(&self, notifications: &[Notification]) -> Result<(), String> {
        let mail = self.build_mail(notifications).map_err(|error| error.to_string())?;
        self.server.send(mail).await.map(drop).map_err(|error| error.to_string())
    }

    fn build_mail(&self, notifications: &[Notification]) -> Result<Message, lettre::error::Error> {
        let subject = match notifications {
            [only] => only.title.clone(),
            many => format!("{} feed notifications", many.len()),
        };
        let about = |notification: &Notification| {
            format!(
                "{}\n\n  {}\n  {}\n  {}\n",
                notification.title,
                notification.reason,
                notification.at,
                notification.report_or_feed_url()
            )
        };
        let text: Vec<String> = notifications.iter().map(about).collect();
        Message::builder()
            .from(self.from.clone())
            .to(self.to.clone())
            .subject(subject)
            .header(AutoSubmitted)
            .header(ContentType::TEXT_PLAIN)
            .body(text.join("\n"))
    }
}
