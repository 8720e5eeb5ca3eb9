//! Texts for the codes of the protocol.

use lineside_wire::codes::{DISCONNECTS, ERRORS, UNSUBSCRIBES};

pub(crate) fn error_code_text(code: u32) -> Option<&'static str> {
    ERRORS.iter().find(|known| known.code == code).map(|known| known.text)
}

pub(crate) fn disconnect_code_text(code: u32) -> Option<&'static str> {
    DISCONNECTS.iter().find(|known| u32::from(known.code) == code).map(|known| known.reason)
}

pub(crate) fn unsubscribe_code_text(code: u32) -> Option<&'static str> {
    UNSUBSCRIBES.iter().find(|known| known.code == code).map(|known| known.reason)
}
