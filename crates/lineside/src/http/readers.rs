//! Who may open a stream on which channels.

use http::{HeaderMap, header};
use lineside_hub::Channel;
use lineside_wire::sse::CHANNELS_MAX;

use super::errors::Refusal;
use super::parameters::Parameters;
use crate::app::App;

/// Checks the token of a request, if there is one, and that its channels are for who shows it. Names that are no
/// channels are left to who opens the stream.
///
/// # Errors
/// When the token is not good, or a channel not for this client.
pub(super) fn check(
    app: &App,
    headers: &HeaderMap,
    parameters: &Parameters,
    channels: &[&str],
) -> Result<(), Refusal> {
    let header = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
    let token = header.and_then(|text| text.strip_prefix("Bearer "));
    // A browser's event source cannot set headers.
    let client = app.gate().identify(token.or_else(|| parameters.one("token")))?;
    for channel in channels.iter().take(CHANNELS_MAX) {
        if let Ok(channel) = Channel::parse(channel) {
            app.gate().may_subscribe(&client, &channel, None)?;
        }
    }
    Ok(())
}
