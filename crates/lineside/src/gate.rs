//! Who may do what over WebSocket.

use std::sync::Arc;

use lineside_hub::{Channel, Hub};
use lineside_wire::centrifuge::codes;
use lineside_wire::gate::{self, Grant, Identity, Refusal};

/// Answers for the hub's namespaces. Channels of feeds are for everybody.
#[derive(Debug)]
pub(crate) struct Gate {
    hub: Arc<Hub>,
}

impl Gate {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Self { hub }
    }
}

impl gate::Gate for Gate {
    fn is_known(&self, _token: &str) -> bool {
        true
    }

    fn check(&self, _token: &str) {}

    fn connect(&self, _token: Option<&str>) -> Result<Identity, Refusal> {
        Ok(Identity::default())
    }

    fn subscribe(
        &self,
        who: &Identity,
        channel: &Channel,
        _token: Option<&str>,
    ) -> Result<Grant, Refusal> {
        let namespace = self.hub.namespace(channel);
        match namespace.is_none_or(|namespace| namespace.subscribe.includes(&who.user)) {
            true => Ok(Grant::default()),
            false => Err(&codes::PERMISSION_DENIED),
        }
    }

    fn publish(&self, who: &Identity, channel: &Channel) -> Result<(), Refusal> {
        let namespace = self.hub.namespace(channel);
        match namespace.is_some_and(|namespace| namespace.publish.includes(&who.user)) {
            true => Ok(()),
            false => Err(&codes::PERMISSION_DENIED),
        }
    }
}
