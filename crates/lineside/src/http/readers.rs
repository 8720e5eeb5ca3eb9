//! Who may open a stream on which channels.

use std::time::Duration;

use http::{HeaderMap, header};
use lineside_hub::Channel;
use lineside_wire::gate::Identity;
use lineside_wire::sse::{CHANNELS_MAX, Reader};

use super::admin;
use super::errors::Refusal;
use super::parameters::Parameters;
use super::proxies::Peer;
use crate::admin::By;
use crate::app::App;
use crate::ops::is_ops;

/// Who shows the token of a request, or none, where its channels are for them. Names that are no
/// channels are left to who opens the stream.
///
/// An admin's token or session is looked at only where a channel wants it: who shows another token for other channels
/// does not guess.
///
/// # Errors
/// When the token is not good, or a channel not for this client.
pub(super) fn check(
    app: &App,
    headers: &HeaderMap,
    peer: Peer,
    parameters: &Parameters,
    channels: &[&str],
) -> Result<Reader, Refusal> {
    let channels: Vec<Channel> =
        channels.iter().take(CHANNELS_MAX).filter_map(|name| Channel::parse(name).ok()).collect();
    let asks_admin = channels.iter().any(is_ops) && !app.config().admin.public_ops;
    match client(app, headers, parameters, &channels) {
        Err(_) if asks_admin => an_admin(app, headers, peer, &channels),
        client => client,
    }
}

fn client(
    app: &App,
    headers: &HeaderMap,
    parameters: &Parameters,
    channels: &[Channel],
) -> Result<Reader, Refusal> {
    let header = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
    let token = header.and_then(|text| text.strip_prefix("Bearer "));
    // A browser's event source cannot set headers.
    let client = app.gate().identify(token.or_else(|| parameters.one("token")))?;
    for channel in channels {
        app.gate().may_subscribe(&client, channel, None)?;
    }
    // As long as the token is good to the second; who comes with it later is told that it has expired.
    let left = |at: i64| at.saturating_sub(app.hub().clock().wall().seconds());
    let lives = client.expires.map(|at| Duration::from_secs(left(at).try_into().unwrap_or(0)));
    Ok(Reader { user: client.user, lives })
}

/// An admin, who is anybody to the channels that are not for admins.
fn an_admin(
    app: &App,
    headers: &HeaderMap,
    peer: Peer,
    channels: &[Channel],
) -> Result<Reader, Refusal> {
    let by = admin::identify_reader(app, headers, peer)?;
    for channel in channels.iter().filter(|channel| !is_ops(channel)) {
        app.gate().may_subscribe(&Identity::default(), channel, None)?;
    }
    let lives = match by {
        By::Token => None,
        By::Session(left) => Some(left),
    };
    Ok(Reader { user: Identity::default().user, lives })
}
