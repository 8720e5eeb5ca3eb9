//! The monitored call of a journey.

use lineside_formats::siri::{SiriCall, VehicleJourney};

/// Puts the monitored call into its journey. The schema has fewer elements in such a call than in others: predictions
/// about the vehicle move to the journey, and the status shows that the call is skipped.
pub(super) fn set_monitored_call(journey: &mut VehicleJourney, mut call: SiriCall) {
    journey.prediction_inaccurate = call.prediction_inaccurate.take();
    journey.occupancy = call.occupancy.take();
    call.extra_call = None;
    call.cancellation = None;
    journey.monitored_call = Some(Box::new(call));
}
