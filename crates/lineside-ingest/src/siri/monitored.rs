//! The call of a journey at which its vehicle, or a stop, is monitored.

use lineside_formats::siri::{SiriCall, VehicleJourney};

/// Puts the call that is monitored into its journey. The schema has less in such a call than in others: what is expected of
/// the vehicle is said of the journey, and that the call is left out by its status.
pub(super) fn put_monitored_call(journey: &mut VehicleJourney, mut call: SiriCall) {
    journey.prediction_inaccurate = call.prediction_inaccurate.take();
    journey.occupancy = call.occupancy.take();
    call.extra_call = None;
    call.cancellation = None;
    journey.monitored_call = Some(Box::new(call));
}
