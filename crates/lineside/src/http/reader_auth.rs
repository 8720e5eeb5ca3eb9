//! Who may open a stream on which channels.

use std::time::Duration;

use http::{HeaderMap, header};
use lineside_hub::Channel;
use lineside_wire::auth::ClientIdentity;
use lineside_wire::sse::{CHANNELS_MAX, SseSubscriber};

use super::admin;
use super::errors::Refusal;
use super::parameters::QueryParameters;
use super::proxies::PeerAddress;
use crate::admin::AdminCredential;
use crate::app::App;
use crate::ops::is_ops_channel;

/// Who shows the token of a request, or none, where its channels are for them. Names that are no
/// channels are left to who opens the stream.
///
/// An admin's token or session is looked at only where a channel wants it: who shows another token for other channels
/// does not guess.
///
/// # Errors
/// When the token is not good, or a channel not for this client.
pub(super) fn authorize_reader(
    app: &App,
    headers: &HeaderMap,
    peer: PeerAddress,
    parameters: &QueryParameters,
    channels: &[&str],
) -> Result<SseSubscriber, Refusal> {
    let channels: Vec<Channel> = channels
        .iter()
        .take(CHANNELS_MAX)
        .filter_map(|name| Channel::parse_name(name).ok())
        .collect();
    let asks_admin = channels.iter().any(is_ops_channel) && !app.config().admin.public_ops;
    match authorize_client(app, headers, parameters, &channels) {
        Err(_) if asks_admin => authorize_admin(app, headers, peer, &channels),
        client => client,
    }
}

fn authorize_client(
    app: &App,
    headers: &HeaderMap,
    parameters: &QueryParameters,
    channels: &[Channel],
) -> Result<SseSubscriber, Refusal> {
    let header = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
    let token = header.and_then(|text| text.strip_prefix("Bearer "));
    // A browser's event source cannot set headers.
    let client =
        app.authorizer().identify_client(token.or_else(|| parameters.find_value("token")))?;
    for channel in channels {
        app.authorizer().authorize_subscribe(&client, channel, None)?;
    }
    // As long as the token is good to the second; who comes with it later is told that it has expired.
    let left = |at: i64| at.saturating_sub(app.hub().clock().wall_time().unix_seconds());
    let lives = client.expires.map(|at| Duration::from_secs(left(at).try_into().unwrap_or(0)));
    Ok(SseSubscriber { user: client.user, lives })
}

/// An admin, who is anybody to the channels that are not for admins.
fn authorize_admin(
    app: &App,
    headers: &HeaderMap,
    peer: PeerAddress,
    channels: &[Channel],
) -> Result<SseSubscriber, Refusal> {
    let by = admin::identify_reader(app, headers, peer)?;
    for channel in channels.iter().filter(|channel| !is_ops_channel(channel)) {
        app.authorizer().authorize_subscribe(&ClientIdentity::default(), channel, None)?;
    }
    let lives = match by {
        AdminCredential::Token => None,
        AdminCredential::Session(left) => Some(left),
    };
    Ok(SseSubscriber { user: ClientIdentity::default().user, lives })
}
