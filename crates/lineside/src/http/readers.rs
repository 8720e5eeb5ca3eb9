//! Who may open a stream on which channels.

use std::time::Duration;

use http::{HeaderMap, header};
use lineside_hub::Channel;
use lineside_wire::sse::{CHANNELS_MAX, Reader};

use super::errors::Refusal;
use super::parameters::Parameters;
use crate::app::App;

/// Who shows the token of a request, or none, where its channels are for them. Names that are no
/// channels are left to who opens the stream.
///
/// # Errors
/// When the token is not good, or a channel not for this client.
pub(super) fn check(
    app: &App,
    headers: &HeaderMap,
    parameters: &Parameters,
    channels: &[&str],
) -> Result<Reader, Refusal> {
    let header = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
    let token = header.and_then(|text| text.strip_prefix("Bearer "));
    // A browser's event source cannot set headers.
    let client = app.gate().identify(token.or_else(|| parameters.one("token")))?;
    for channel in channels.iter().take(CHANNELS_MAX) {
        if let Ok(channel) = Channel::parse(channel) {
            app.gate().may_subscribe(&client, &channel, None)?;
        }
    }
    // As long as the token is good to the second; who comes with it later is told that it has expired.
    let left = |at: i64| at.saturating_sub(app.hub().clock().wall().seconds());
    let lives = client.expires.map(|at| Duration::from_secs(left(at).try_into().unwrap_or(0)));
    Ok(Reader { user: client.user, lives })
}
