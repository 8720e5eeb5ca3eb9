//! The methods of Centrifugo's API that this server does not implement, such as `batch`, `channels`, `info` and
//! `unsubscribe`.

use lineside_wire::codes;
use serde_json::Value;

use super::answer::{ApiError, CallResult, into_call_result};
use super::call::ApiCall;

/// Refuses an unknown method as Centrifugo does, so that its client libraries report an API error.
pub(super) async fn refuse_method(_: ApiCall<Value>) -> CallResult<()> {
    into_call_result(Err(ApiError::from(&codes::METHOD_NOT_FOUND)))
}
