//! Methods of Centrifugo that this server does not have, such as `batch`, `channels`, `info` and `unsubscribe`.

use lineside_wire::centrifuge::codes;
use serde_json::Value;

use super::answer::{Answered, ApiError, wrap_result};
use super::call::ApiCall;

/// Refuses a method as Centrifugo refuses one that it does not know, so that its client libraries report an error of the API.
pub(super) async fn refuse_method(_: ApiCall<Value>) -> Answered<()> {
    wrap_result(Err(ApiError::from(&codes::METHOD_NOT_FOUND)))
}
