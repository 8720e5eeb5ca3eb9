//! Authorization to open an event stream on channels.

use std::time::Duration;

use http::{HeaderMap, header};
use lineside_hub::EncodedChannelName;
use lineside_quality::ops_channels::is_dashboard_channel;
use lineside_wire::auth::ClientIdentity;
use lineside_wire::sse::{CHANNELS_MAX, SseSubscriber};

use super::admin;
use super::errors::Refusal;
use super::parameters::QueryParameters;
use super::proxies::PeerAddress;
use crate::admin_auth::AdminCredential;
use crate::app::App;

/// Authenticates the client of a stream and checks that it may subscribe to its channels. Invalid channel names are
/// left to the code that opens the stream.
///
/// An admin's token or session is checked only if a channel needs it: a client token for other channels must not count
/// as a guess at the admin's.
///
/// # Errors
/// Returns an error if the token is invalid, or if a channel is not for this client.
pub(crate) fn authorize_reader(
    app: &App,
    headers: &HeaderMap,
    peer: PeerAddress,
    parameters: &QueryParameters,
    channels: &[&str],
) -> Result<SseSubscriber, Refusal> {
    let channels: Vec<EncodedChannelName> = channels
        .iter()
        .take(CHANNELS_MAX)
        .filter_map(|name| EncodedChannelName::parse_channel_name(name).ok())
        .collect();
    let needs_admin = channels.iter().any(is_dashboard_channel) && !app.config().admin.public_ops;
    match authorize_client(app, headers, parameters, &channels) {
        Err(_) if needs_admin => authorize_admin(app, headers, peer, &channels),
        client => client,
    }
}

fn authorize_client(
    app: &App,
    headers: &HeaderMap,
    parameters: &QueryParameters,
    channels: &[EncodedChannelName],
) -> Result<SseSubscriber, Refusal> {
    let header = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
    let token = header.and_then(|text| text.strip_prefix("Bearer "));
    // A browser's `EventSource` cannot set headers.
    let client =
        app.token_authorizer().identify_client(token.or_else(|| parameters.find_value("token")))?;
    for channel in channels {
        app.token_authorizer().authorize_subscribe(&client, channel, None)?;
    }
    // The stream lives until the second in which the token expires.
    let left = |at: i64| at.saturating_sub(app.hub().clock().wall_time().unix_seconds());
    let lifetime = client.expires.map(|at| Duration::from_secs(left(at).try_into().unwrap_or(0)));
    Ok(SseSubscriber { user: client.user, token_lifetime: lifetime })
}

/// Authenticates an admin, who is an anonymous client on the channels that are not for admins.
fn authorize_admin(
    app: &App,
    headers: &HeaderMap,
    peer: PeerAddress,
    channels: &[EncodedChannelName],
) -> Result<SseSubscriber, Refusal> {
    let credential = admin::authenticate_admin_for_reading(app, headers, peer)?;
    for channel in channels.iter().filter(|channel| !is_dashboard_channel(channel)) {
        app.token_authorizer().authorize_subscribe(&ClientIdentity::default(), channel, None)?;
    }
    let lifetime = match credential {
        AdminCredential::Token => None,
        AdminCredential::Session(left) => Some(left),
    };
    Ok(SseSubscriber { user: ClientIdentity::default().user, token_lifetime: lifetime })
}
