//! The claims of a token: parsing and checks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use lineside_hub::EncodedChannelName;
use lineside_quality::json;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{INFO_BYTES_MAX, TokenClaims, TokenError, USER_BYTES_MAX};

/// The parsed claims; others are ignored.
#[derive(Deserialize)]
pub(super) struct RawClaims {
    #[serde(default)]
    sub: Box<str>,
    /// Compared by the verification. A list, which RFC 7519 does not allow, fails to parse.
    #[serde(rename = "iss")]
    _iss: Option<Box<str>>,
    exp: Option<f64>,
    nbf: Option<f64>,
    /// End of the connection, if it differs from the token's expiry; 0 for never.
    expire_at: Option<i64>,
    info: Option<Box<RawValue>>,
    b64info: Option<Box<str>>,
    #[serde(default)]
    channels: Vec<Box<str>>,
    channel: Option<Box<str>>,
}

impl TryFrom<RawClaims> for TokenClaims {
    type Error = TokenError;

    fn try_from(written: RawClaims) -> Result<Self, TokenError> {
        if written.sub.len() > USER_BYTES_MAX {
            return Err(TokenError::Invalid);
        }
        let exp = parse_numeric_date(written.exp)?;
        let expires = match written.expire_at {
            None => exp,
            Some(at) => Some(at).filter(|at| *at > 0),
        };
        Ok(Self {
            user: written.sub.into(),
            info: parse_info_claim(written.info.as_deref(), written.b64info.as_deref())?,
            expires,
            channels: parse_channels(&written.channels)?,
            channel: written.channel,
            exp,
            nbf: parse_numeric_date(written.nbf)?,
        })
    }
}

/// Converts a time of a token, a number with or without a fraction (RFC 7519); 0 counts as none, because some issuers
/// write it.
fn parse_numeric_date(written: Option<f64>) -> Result<Option<i64>, TokenError> {
    match written {
        None => Ok(None),
        Some(seconds) if seconds.is_finite() && seconds >= 0.0 => {
            Ok((seconds > 0.0).then_some(seconds as i64))
        }
        Some(_) => Err(TokenError::Invalid),
    }
}

fn parse_channels(written: &[Box<str>]) -> Result<Vec<EncodedChannelName>, TokenError> {
    let channels = written.iter().map(|name| EncodedChannelName::parse_channel_name(name));
    channels.collect::<Result<_, _>>().map_err(|_| TokenError::Invalid)
}

/// Parses JSON that will be part of messages to other clients.
fn parse_info_claim(written: Option<&RawValue>, base64: Option<&str>) -> Result<Bytes, TokenError> {
    let info = match (base64, written) {
        (Some(text), _) => {
            let decoded = STANDARD.decode(text).map_err(|_| TokenError::Invalid)?;
            json::json_to_single_line(decoded).ok_or(TokenError::Invalid)?
        }
        (None, Some(written)) if written.get() != "null" => json::raw_json_to_single_line(written),
        (None, _) => Bytes::new(),
    };
    if info.len() > INFO_BYTES_MAX { Err(TokenError::Invalid) } else { Ok(info) }
}
