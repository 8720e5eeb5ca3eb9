//! How vehicles run: journeys with their calls, as estimated timetables, vehicle monitoring and stop monitoring say it.

use smol_str::SmolStr;

use super::{
    ArrivalBoardingActivity, CallStatus, DepartureBoardingActivity, DurationSeconds, LanguageText,
    Occupancy, SiriTime,
    record::{IdentifiedRecord, SiriRecord as _, records},
    sink::MessageSink,
};

records! {
    /// A journey by its day and its name on that day.
    pub struct FramedVehicleJourneyRef {
        /// The day, mostly as a date, sometimes any name.
        data_frame_ref: Option<SmolStr> = "DataFrameRef",
        /// The journey.
        dated_vehicle_journey_ref: Option<SmolStr> = "DatedVehicleJourneyRef",
    }

    /// A place, in degrees of WGS 84 unless the message says otherwise.
    pub struct Location {
        /// Degrees east.
        longitude: Option<f64> = "Longitude",
        /// Degrees north.
        latitude: Option<f64> = "Latitude",
        /// Both, or a point of another system, as the producer writes it.
        coordinates: Option<SmolStr> = "Coordinates",
        /// Metres within which it is right.
        precision: Option<f64> = "Precision",
    }

    /// At which quay a vehicle stops, as planned, expected and seen.
    pub struct StopAssignment {
        /// The quay of the plan.
        aimed_quay_ref: Option<SmolStr> = "AimedQuayRef",
        /// Its name.
        aimed_quay_names: Vec<LanguageText> = "AimedQuayName",
        /// The quay that is expected.
        expected_quay_ref: Option<SmolStr> = "ExpectedQuayRef",
        /// Its name.
        expected_quay_names: Vec<LanguageText> = "ExpectedQuayName",
        /// The quay at which the vehicle is or was.
        actual_quay_ref: Option<SmolStr> = "ActualQuayRef",
        /// Its name.
        actual_quay_names: Vec<LanguageText> = "ActualQuayName",
    }

    /// How full a vehicle is expected to leave (2.1).
    pub struct DepartureOccupancy {
        /// For whom this holds.
        fare_class: Option<SmolStr> = "FareClass",
        /// How full.
        occupancy_level: Option<Occupancy> = "OccupancyLevel",
        /// How full, of 100.
        occupancy_percentage: Option<f64> = "OccupancyPercentage",
    }

    /// A situation by its name.
    pub struct SituationFullRef {
        /// Its country.
        country_ref: Option<SmolStr> = "CountryRef",
        /// Whose situation it is.
        participant_ref: Option<SmolStr> = "ParticipantRef",
        /// Its number there.
        situation_number: Option<SmolStr> = "SituationNumber",
        /// Its version.
        version: Option<SmolStr> = "Version",
    }

    /// A situation that concerns this.
    pub struct SituationRef {
        /// By its number alone.
        situation_simple_ref: Option<SmolStr> = "SituationSimpleRef",
        /// By its whole name.
        situation_full_ref: Option<Box<SituationFullRef>> = "SituationFullRef",
    }

    /// A call of a journey: recorded, estimated, monitored, previous or onward. The list says which. The order is the
    /// schema's of estimated calls, and recorded ones are written in their own; a monitored call has what was seen before
    /// what is expected, so one that has both is not written as the schema has it.
    pub struct SiriCall: call {
        ?unread,
        /// The stop or quay.
        stop_point_ref: Option<SmolStr> = "StopPointRef",
        /// The how manieth visit of this journey to this stop, from 1.
        visit_number: Option<u32> = "VisitNumber",
        /// Its place in the journey.
        order: Option<u32> = "Order",
        /// The name of the stop.
        stop_point_names: Vec<LanguageText> = "StopPointName",
        /// Whether the timetable does not have it.
        extra_call: Option<bool> = "ExtraCall",
        /// Whether the vehicle does not stop here.
        cancellation: Option<bool> = "Cancellation",
        /// Whether the vehicle is here.
        vehicle_at_stop: Option<bool> = "VehicleAtStop",
        /// Where the vehicle stops.
        vehicle_location_at_stop: Option<Box<Location>> = "VehicleLocationAtStop",
        /// Whether the prediction is less certain than usual.
        prediction_inaccurate: Option<bool> = "PredictionInaccurate",
        /// How full the vehicle is.
        occupancy: Option<Occupancy> = "Occupancy",
        /// Whether the vehicle waits here for its time.
        timing_point: Option<bool> = "TimingPoint",
        /// Whether passengers can get on and off anywhere from here on.
        boarding_stretch: Option<bool> = "BoardingStretch",
        /// Whether the vehicle stops on request only.
        request_stop: Option<bool> = "RequestStop",
        /// From where, as the vehicle shows it.
        origin_displays: Vec<LanguageText> = "OriginDisplay",
        /// To where, as the vehicle shows it.
        destination_displays: Vec<LanguageText> = "DestinationDisplay",
        /// What there is to say.
        call_notes: Vec<LanguageText> = "CallNote",
        /// Situations that concern it.
        situation_refs: Vec<SituationRef> = "SituationRef",
        /// Arrival by the timetable.
        aimed_arrival_time: Option<SiriTime> = "AimedArrivalTime",
        /// Arrival as expected.
        expected_arrival_time: Option<SiriTime> = "ExpectedArrivalTime",
        /// Arrival as it was.
        actual_arrival_time: Option<SiriTime> = "ActualArrivalTime",
        /// The latest arrival that is expected.
        latest_expected_arrival_time: Option<SiriTime> = "LatestExpectedArrivalTime",
        /// How the arrival stands.
        arrival_status: Option<CallStatus> = "ArrivalStatus",
        /// The same in words.
        arrival_proximity_texts: Vec<LanguageText> = "ArrivalProximityText",
        /// The platform at which the vehicle arrives.
        arrival_platform_names: Vec<LanguageText> = "ArrivalPlatformName",
        /// What passengers can do.
        arrival_boarding_activity: Option<ArrivalBoardingActivity> = "ArrivalBoardingActivity",
        /// The quay at which the vehicle arrives.
        arrival_stop_assignments: Vec<StopAssignment> = "ArrivalStopAssignment",
        /// Departure by the timetable.
        aimed_departure_time: Option<SiriTime> = "AimedDepartureTime",
        /// Departure as expected.
        expected_departure_time: Option<SiriTime> = "ExpectedDepartureTime",
        /// Departure as expected by default, before the vehicle reports.
        provisional_expected_departure_time: Option<SiriTime> = "ProvisionalExpectedDepartureTime",
        /// The earliest departure that is expected.
        earliest_expected_departure_time: Option<SiriTime> = "EarliestExpectedDepartureTime",
        /// Departure as it was.
        actual_departure_time: Option<SiriTime> = "ActualDepartureTime",
        /// How the departure stands.
        departure_status: Option<CallStatus> = "DepartureStatus",
        /// The same in words.
        departure_proximity_texts: Vec<LanguageText> = "DepartureProximityText",
        /// The platform from which the vehicle departs.
        departure_platform_names: Vec<LanguageText> = "DeparturePlatformName",
        /// What passengers can do.
        departure_boarding_activity: Option<DepartureBoardingActivity> = "DepartureBoardingActivity",
        /// The quay from which the vehicle departs.
        departure_stop_assignments: Vec<StopAssignment> = "DepartureStopAssignment",
        /// How full the vehicle is expected to leave.
        expected_departure_occupancies: Vec<DepartureOccupancy> = "ExpectedDepartureOccupancy",
        /// Time to the vehicle before, by the timetable.
        aimed_headway_interval: Option<DurationSeconds> = "AimedHeadwayInterval",
        /// Time to the vehicle before, as expected.
        expected_headway_interval: Option<DurationSeconds> = "ExpectedHeadwayInterval",
        /// Metres from the vehicle to the stop.
        distance_from_stop: Option<f64> = "DistanceFromStop",
        /// Stops from the vehicle to this one.
        number_of_stops_away: Option<u32> = "NumberOfStopsAway",
    }

    /// A place on the way.
    pub struct Via {
        /// The place.
        place_ref: Option<SmolStr> = "PlaceRef",
        /// Its name.
        place_names: Vec<LanguageText> = "PlaceName",
    }

    /// A journey of an estimated timetable (`EstimatedVehicleJourney`), or of a vehicle or stop that is monitored
    /// (`MonitoredVehicleJourney`).
    pub struct VehicleJourney: journey {
        ?unread,
        /// When it was recorded.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// The line.
        line_ref: Option<SmolStr> = "LineRef",
        /// The direction, by the producer's names.
        direction_ref: Option<SmolStr> = "DirectionRef",
        /// The journey by its day and its name on that day.
        framed_vehicle_journey_ref: Option<FramedVehicleJourneyRef> = "FramedVehicleJourneyRef",
        /// The journey by a name that is good for one day only.
        dated_vehicle_journey_ref: Option<SmolStr> = "DatedVehicleJourneyRef",
        /// The name of a journey that the timetable does not have.
        estimated_vehicle_journey_code: Option<SmolStr> = "EstimatedVehicleJourneyCode",
        /// Whether the timetable does not have it.
        extra_journey: Option<bool> = "ExtraJourney",
        /// Whether it does not run.
        cancellation: Option<bool> = "Cancellation",
        /// The list of stops that it serves.
        journey_pattern_ref: Option<SmolStr> = "JourneyPatternRef",
        /// Its name.
        journey_pattern_names: Vec<LanguageText> = "JourneyPatternName",
        /// The kinds of vehicle: `bus`, `rail` and so on.
        vehicle_modes: Vec<SmolStr> = "VehicleMode",
        /// The route.
        route_ref: Option<SmolStr> = "RouteRef",
        /// The name or number of the line, for passengers.
        published_line_names: Vec<LanguageText> = "PublishedLineName",
        /// The network or other group that the line belongs to.
        group_of_lines_ref: Option<SmolStr> = "GroupOfLinesRef",
        /// The name of the direction.
        direction_names: Vec<LanguageText> = "DirectionName",
        /// The line in another system.
        external_line_ref: Option<SmolStr> = "ExternalLineRef",
        /// The first stop.
        origin_ref: Option<SmolStr> = "OriginRef",
        /// Its name.
        origin_names: Vec<LanguageText> = "OriginName",
        /// Places on the way.
        vias: Vec<Via> = "Via",
        /// The last stop.
        destination_ref: Option<SmolStr> = "DestinationRef",
        /// Its name.
        destination_names: Vec<LanguageText> = "DestinationName",
        /// The operator.
        operator_ref: Option<SmolStr> = "OperatorRef",
        /// The product: `express` and so on.
        product_category_ref: Option<SmolStr> = "ProductCategoryRef",
        /// What the service offers.
        service_feature_refs: Vec<SmolStr> = "ServiceFeatureRef",
        /// What the vehicle offers.
        vehicle_feature_refs: Vec<SmolStr> = "VehicleFeatureRef",
        /// The name or number of the journey, for passengers.
        vehicle_journey_names: Vec<LanguageText> = "VehicleJourneyName",
        /// What there is to say.
        journey_notes: Vec<LanguageText> = "JourneyNote",
        /// Whether it runs by headway, without times.
        headway_service: Option<bool> = "HeadwayService",
        /// Departure from the first stop, by the timetable.
        origin_aimed_departure_time: Option<SiriTime> = "OriginAimedDepartureTime",
        /// Arrival at the last stop, by the timetable.
        destination_aimed_arrival_time: Option<SiriTime> = "DestinationAimedArrivalTime",
        /// Whether it is the first or last of its day.
        first_or_last_journey: Option<SmolStr> = "FirstOrLastJourney",
        /// Situations that concern it.
        situation_refs: Vec<SituationRef> = "SituationRef",
        /// Whether its vehicle reports.
        monitored: Option<bool> = "Monitored",
        /// Why it does not.
        monitoring_errors: Vec<SmolStr> = "MonitoringError",
        /// Whether its vehicle is held up by traffic.
        in_congestion: Option<bool> = "InCongestion",
        /// Whether its driver has raised an alarm.
        in_panic: Option<bool> = "InPanic",
        /// Whether predictions are less certain than usual.
        prediction_inaccurate: Option<bool> = "PredictionInaccurate",
        /// The system from which this comes.
        data_source: Option<SmolStr> = "DataSource",
        /// How far this is to be believed.
        confidence_level: Option<SmolStr> = "ConfidenceLevel",
        /// Where its vehicle is.
        vehicle_location: Option<Location> = "VehicleLocation",
        /// When it was there.
        location_recorded_at_time: Option<SiriTime> = "LocationRecordedAtTime",
        /// Where its vehicle heads, in degrees clockwise from north.
        bearing: Option<f64> = "Bearing",
        /// `normalProgress`, `slowProgress`, `noProgress` and so on.
        progress_rate: Option<SmolStr> = "ProgressRate",
        /// How fast its vehicle is, mostly in metres a second.
        velocity: Option<f64> = "Velocity",
        /// Whether its engine runs.
        engine_on: Option<bool> = "EngineOn",
        /// How full its vehicle is.
        occupancy: Option<Occupancy> = "Occupancy",
        /// How late it is; negative is early.
        delay: Option<DurationSeconds> = "Delay",
        /// What there is to say about how it goes.
        progress_statuses: Vec<LanguageText> = "ProgressStatus",
        /// `expected`, `assigned`, `inProgress`, `aborted` and so on.
        vehicle_status: Option<SmolStr> = "VehicleStatus",
        /// The block of journeys that its vehicle runs.
        block_ref: Option<SmolStr> = "BlockRef",
        /// Its run.
        course_of_journey_ref: Option<SmolStr> = "CourseOfJourneyRef",
        /// The journey in the producer's system.
        vehicle_journey_ref: Option<SmolStr> = "VehicleJourneyRef",
        /// The vehicle.
        vehicle_ref: Option<SmolStr> = "VehicleRef",
        /// Journeys that run together with it.
        additional_vehicle_journey_refs: Vec<FramedVehicleJourneyRef> = "AdditionalVehicleJourneyRef",
        /// Its driver.
        driver_ref: Option<SmolStr> = "DriverRef",
        /// The numbers of the train.
        train_number_refs: Vec<SmolStr> = "TrainNumbers" > "TrainNumberRef",
        /// Calls that are over, of a monitored journey.
        previous_calls: Vec<SiriCall> = "PreviousCalls" > "PreviousCall",
        /// The call at the stop that is monitored, or the one next to the vehicle.
        monitored_call: Option<Box<SiriCall>> = "MonitoredCall",
        /// Calls that are to come, of a monitored journey.
        onward_calls: Vec<SiriCall> = "OnwardCalls" > "OnwardCall",
        /// Calls that are over, of an estimated journey.
        recorded_calls: Vec<SiriCall> = "RecordedCalls" > "RecordedCall",
        /// Calls that are to come, of an estimated journey.
        estimated_calls: Vec<SiriCall> = "EstimatedCalls" > "EstimatedCall",
        /// Whether these are all calls.
        is_complete_stop_sequence: Option<bool> = "IsCompleteStopSequence",
    }

    /// How far a vehicle has come from one stop to the next.
    pub struct ProgressBetweenStops {
        /// Metres between the stops.
        link_distance: Option<f64> = "LinkDistance",
        /// How much of that is done, of 100.
        percentage: Option<f64> = "Percentage",
    }

    /// What one vehicle does.
    pub struct VehicleActivity: named {
        ?unread,
        /// When it was recorded.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// The name of this piece of news.
        item_identifier: Option<SmolStr> = "ItemIdentifier",
        /// Until when it holds.
        valid_until_time: Option<SiriTime> = "ValidUntilTime",
        /// The vehicle, or the group of vehicles that was asked for.
        vehicle_monitoring_ref: Option<SmolStr> = "VehicleMonitoringRef",
        /// How far it has come.
        progress_between_stops: Option<ProgressBetweenStops> = "ProgressBetweenStops",
        /// The journey that it runs.
        monitored_vehicle_journey: Option<Box<VehicleJourney>> = "MonitoredVehicleJourney",
        /// What there is to say.
        vehicle_activity_notes: Vec<LanguageText> = "VehicleActivityNote",
    }

    /// Takes a vehicle's activity back.
    pub struct VehicleActivityCancellation: named {
        /// When it was recorded.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// The name of the news that is taken back.
        item_ref: Option<SmolStr> = "ItemRef",
        /// The vehicle.
        vehicle_monitoring_ref: Option<SmolStr> = "VehicleMonitoringRef",
        /// The journey that it ran.
        vehicle_journey_ref: Option<FramedVehicleJourneyRef> = "VehicleJourneyRef",
        /// The line.
        line_ref: Option<SmolStr> = "LineRef",
        /// The direction.
        direction_ref: Option<SmolStr> = "DirectionRef",
        /// Why.
        reasons: Vec<LanguageText> = "Reason",
    }

    /// One call at a stop that is monitored.
    pub struct MonitoredStopVisit: named {
        ?unread,
        /// When it was recorded.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// The name of this piece of news.
        item_identifier: Option<SmolStr> = "ItemIdentifier",
        /// Until when it holds.
        valid_until_time: Option<SiriTime> = "ValidUntilTime",
        /// The stop that was asked for.
        monitoring_ref: Option<SmolStr> = "MonitoringRef",
        /// What the news was called when it is to be cleared.
        clear_down_ref: Option<SmolStr> = "ClearDownRef",
        /// The journey that calls there.
        monitored_vehicle_journey: Option<Box<VehicleJourney>> = "MonitoredVehicleJourney",
        /// What there is to say.
        stop_visit_notes: Vec<LanguageText> = "StopVisitNote",
    }

    /// Takes a call at a stop back.
    pub struct MonitoredStopVisitCancellation: named {
        /// When it was recorded.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// The name of the news that is taken back.
        item_ref: Option<SmolStr> = "ItemRef",
        /// The stop.
        monitoring_ref: Option<SmolStr> = "MonitoringRef",
        /// The how manieth visit, from 1.
        visit_number: Option<u32> = "VisitNumber",
        /// The line.
        line_ref: Option<SmolStr> = "LineRef",
        /// The direction.
        direction_ref: Option<SmolStr> = "DirectionRef",
        /// The journey.
        vehicle_journey_ref: Option<FramedVehicleJourneyRef> = "VehicleJourneyRef",
        /// Why.
        reasons: Vec<LanguageText> = "Reason",
    }
}

/// The first field that says where a journey begins and ends.
const ENDS: &str = "OriginRef";
/// What is offered, and by whom: it stands before the ends of a journey that is monitored, and after them of one that is
/// estimated.
const SERVICE: [&str; 4] =
    ["OperatorRef", "ProductCategoryRef", "ServiceFeatureRef", "VehicleFeatureRef"];

/// The platform of a departure.
const PLATFORM: &str = "DeparturePlatformName";
/// What stands behind it in a recorded call, and before it in all others: the schema's own mistake, which messages keep to.
const DEPARTED: &str = "ActualDepartureTime";

/// Takes the fields of a table that stand before one of them.
fn fields_before(field: &'static str) -> impl FnMut(&'static str) -> bool {
    let mut is_before = true;
    move |name| {
        is_before &= name != field;
        is_before
    }
}

impl SiriCall {
    /// Writes it in the order that it has where it is recorded.
    fn write_recorded_order<W: MessageSink>(&self, sink: &mut W) {
        if self.departure_platform_names.is_empty() {
            return self.write_children(sink);
        }
        self.write_fields(fields_before(DEPARTED), sink);
        self.write_fields(|name| name == PLATFORM, sink);
        let mut is_before = fields_before(DEPARTED);
        self.write_fields(|name| !is_before(name) && name != PLATFORM, sink);
    }
}

impl VehicleJourney {
    /// Writes it in the order that it has where it is monitored.
    fn write_monitored_order<W: MessageSink>(&self, sink: &mut W) {
        self.write_fields(fields_before(ENDS), sink);
        self.write_fields(|name| SERVICE.contains(&name), sink);
        let mut is_before = fields_before(ENDS);
        self.write_fields(|name| !is_before(name) && !SERVICE.contains(&name), sink);
    }

    /// What the producer calls the journey: the first of its names that is there.
    pub fn journey_ref(&self) -> Option<&SmolStr> {
        let framed = self.framed_vehicle_journey_ref.as_ref();
        framed
            .and_then(|framed| framed.dated_vehicle_journey_ref.as_ref())
            .or(self.dated_vehicle_journey_ref.as_ref())
            .or(self.estimated_vehicle_journey_code.as_ref())
            .or(self.vehicle_journey_ref.as_ref())
    }
}

impl IdentifiedRecord for VehicleJourney {
    fn record_id(&self) -> Option<&str> {
        self.journey_ref().or(self.line_ref.as_ref()).map(SmolStr::as_str)
    }

    fn missing_field(&self) -> Option<&'static str> {
        self.line_ref.is_none().then_some("LineRef")
    }
}

impl IdentifiedRecord for VehicleActivity {
    fn record_id(&self) -> Option<&str> {
        let journey = self.monitored_vehicle_journey.as_ref();
        let vehicle = journey.and_then(|journey| journey.vehicle_ref.as_ref());
        vehicle.or(self.item_identifier.as_ref()).map(SmolStr::as_str)
    }

    fn missing_field(&self) -> Option<&'static str> {
        self.monitored_vehicle_journey.is_none().then_some("MonitoredVehicleJourney")
    }
}

impl IdentifiedRecord for MonitoredStopVisit {
    fn record_id(&self) -> Option<&str> {
        let journey = self.monitored_vehicle_journey.as_ref();
        let journey_ref = journey.and_then(|journey| journey.journey_ref());
        self.item_identifier.as_ref().or(journey_ref).map(SmolStr::as_str)
    }

    fn missing_field(&self) -> Option<&'static str> {
        self.monitored_vehicle_journey.is_none().then_some("MonitoredVehicleJourney")
    }
}

impl IdentifiedRecord for VehicleActivityCancellation {
    fn record_id(&self) -> Option<&str> {
        self.item_ref.as_ref().or(self.vehicle_monitoring_ref.as_ref()).map(SmolStr::as_str)
    }

    fn missing_field(&self) -> Option<&'static str> {
        (self.item_ref.is_none() && self.vehicle_journey_ref.is_none()).then_some("ItemRef")
    }
}

impl IdentifiedRecord for MonitoredStopVisitCancellation {
    fn record_id(&self) -> Option<&str> {
        self.item_ref.as_ref().or(self.monitoring_ref.as_ref()).map(SmolStr::as_str)
    }

    fn missing_field(&self) -> Option<&'static str> {
        (self.item_ref.is_none() && self.vehicle_journey_ref.is_none()).then_some("ItemRef")
    }
}
