//! What passengers should know: situations, whom they affect, and what follows from them.

use smol_str::SmolStr;

use super::{
    ArrivalBoardingActivity, DepartureBoardingActivity, DurationSeconds, FramedVehicleJourneyRef,
    LanguageText, Location, PresenceFlag, Progress, Severity, SiriTime,
    record::{IdentifiedRecord, records},
};

records! {
    /// A time from its start to its end; without an end it is open.
    pub struct TimePeriod {
        /// The first moment.
        start_time: Option<SiriTime> = "StartTime",
        /// The last moment.
        end_time: Option<SiriTime> = "EndTime",
    }

    /// Another situation, and what it has to do with this one.
    pub struct RelatedToRef {
        /// When that was made.
        creation_time: Option<SiriTime> = "CreationTime",
        /// Its country.
        country_ref: Option<SmolStr> = "CountryRef",
        /// Whose situation it is.
        participant_ref: Option<SmolStr> = "ParticipantRef",
        /// Its number there.
        situation_number: Option<SmolStr> = "SituationNumber",
        /// Its version.
        version: Option<SmolStr> = "Version",
        /// `closes`, `updates`, `supersedes` and so on.
        related_as: Option<SmolStr> = "RelatedAs",
    }

    /// From where a situation is known.
    pub struct SituationSource {
        /// The country.
        country: Option<SmolStr> = "Country",
        /// `directReport`, `feed` and so on.
        source_type: Option<SmolStr> = "SourceType",
        /// Who says it.
        names: Vec<LanguageText> = "Name",
    }

    /// A page with more about it.
    pub struct InfoLink {
        /// Its address.
        uri: Option<SmolStr> = "Uri",
        /// What to call it.
        labels: Vec<LanguageText> = "Label",
    }

    /// An operator that is affected.
    pub struct AffectedOperator {
        /// The operator.
        operator_ref: Option<SmolStr> = "OperatorRef",
        /// Its name.
        operator_names: Vec<LanguageText> = "OperatorName",
    }

    /// The operators that are affected.
    pub struct AffectedOperators {
        /// Whether it is all of them.
        all_operators: PresenceFlag = "AllOperators",
        /// Those that are, by name.
        affected_operators: Vec<AffectedOperator> = "AffectedOperator",
    }

    /// A direction that is affected.
    pub struct AffectedDirection {
        /// The direction.
        direction_ref: Option<SmolStr> = "DirectionRef",
        /// Its name.
        direction_names: Vec<LanguageText> = "DirectionName",
    }

    /// A section between two stops.
    pub struct IndirectSectionRef {
        /// The stop at which it begins.
        first_stop_point_ref: Option<SmolStr> = "FirstStopPointRef",
        /// The quay at which it begins.
        first_quay_ref: Option<SmolStr> = "FirstQuayRef",
        /// The stop at which it ends.
        last_stop_point_ref: Option<SmolStr> = "LastStopPointRef",
        /// The quay at which it ends.
        last_quay_ref: Option<SmolStr> = "LastQuayRef",
    }

    /// A section that is affected.
    pub struct AffectedSection {
        /// The section by its name.
        section_ref: Option<SmolStr> = "SectionRef",
        /// The section by its ends.
        indirect_section_ref: Option<IndirectSectionRef> = "IndirectSectionRef",
    }

    /// A stop or quay that is affected.
    pub struct AffectedStopPoint {
        /// The stop or quay.
        stop_point_ref: Option<SmolStr> = "StopPointRef",
        /// Its name.
        stop_point_names: Vec<LanguageText> = "StopPointName",
        /// `busStop`, `railPlatform` and so on.
        stop_point_type: Option<SmolStr> = "StopPointType",
        /// Where it is.
        location: Option<Box<Location>> = "Location",
        /// The place to which it belongs.
        stop_place_ref: Option<SmolStr> = "StopPlaceRef",
        /// Its name.
        stop_place_names: Vec<LanguageText> = "StopPlaceName",
        /// Who is affected there: `stop`, `notStopping`, `exceptionalStop`, `destination` and so on.
        stop_conditions: Vec<SmolStr> = "StopCondition",
    }

    /// A part of a place, such as a lift.
    pub struct AffectedComponent {
        /// The part.
        component_ref: Option<SmolStr> = "ComponentRef",
        /// Its name.
        component_names: Vec<LanguageText> = "ComponentName",
        /// What it is.
        component_type: Option<SmolStr> = "ComponentType",
        /// The kind of way in or out.
        access_feature_type: Option<SmolStr> = "AccessFeatureType",
    }

    /// A place that is affected.
    pub struct AffectedStopPlace {
        /// The place.
        stop_place_ref: Option<SmolStr> = "StopPlaceRef",
        /// Its name.
        place_names: Vec<LanguageText> = "PlaceName",
        /// `railStation` and so on.
        stop_place_type: Option<SmolStr> = "StopPlaceType",
        /// Its parts that are, if it is not the whole.
        affected_components: Vec<AffectedComponent> = "AffectedComponents" > "AffectedComponent",
    }

    /// A route that is affected.
    pub struct AffectedRoute {
        /// The route.
        route_ref: Option<SmolStr> = "RouteRef",
        /// Its directions.
        directions: Vec<AffectedDirection> = "Direction",
        /// Its sections.
        sections: Vec<AffectedSection> = "Sections" > "AffectedSection",
        /// Its stops.
        stop_points: Vec<AffectedStopPoint> = "StopPoints" > "AffectedStopPoint",
    }

    /// A line that is affected.
    pub struct AffectedLine {
        /// Who runs it.
        affected_operators: Vec<AffectedOperator> = "AffectedOperator",
        /// The line.
        line_ref: Option<SmolStr> = "LineRef",
        /// Its name or number, for passengers.
        published_line_names: Vec<LanguageText> = "PublishedLineName",
        /// Where its journeys end that are affected.
        destinations: Vec<AffectedStopPoint> = "Destinations",
        /// Its directions.
        directions: Vec<AffectedDirection> = "Direction",
        /// Its routes.
        routes: Vec<AffectedRoute> = "Routes" > "AffectedRoute",
        /// Its sections.
        sections: Vec<AffectedSection> = "Sections" > "AffectedSection",
        /// Its stops.
        stop_points: Vec<AffectedStopPoint> = "StopPoints" > "AffectedStopPoint",
    }

    /// A network that is affected.
    pub struct AffectedNetwork {
        /// Who runs it.
        affected_operators: Vec<AffectedOperator> = "AffectedOperator",
        /// The network.
        network_ref: Option<SmolStr> = "NetworkRef",
        /// Its name.
        network_names: Vec<LanguageText> = "NetworkName",
        /// The kind of vehicle: `bus`, `rail` and so on.
        vehicle_mode: Option<SmolStr> = "VehicleMode",
        /// Whether it is all its lines.
        all_lines: PresenceFlag = "AllLines",
        /// Those that are, by name.
        affected_lines: Vec<AffectedLine> = "AffectedLine",
    }

    /// A journey that is affected.
    pub struct AffectedVehicleJourney {
        /// The journey by its day and its name on that day.
        framed_vehicle_journey_ref: Option<FramedVehicleJourneyRef> = "FramedVehicleJourneyRef",
        /// The journey.
        vehicle_journey_refs: Vec<SmolStr> = "VehicleJourneyRef",
        /// The journey on one day.
        dated_vehicle_journey_refs: Vec<SmolStr> = "DatedVehicleJourneyRef",
        /// Its name.
        journey_names: Vec<LanguageText> = "JourneyName",
        /// Who runs it.
        operator: Option<AffectedOperator> = "Operator",
        /// Its line.
        line_ref: Option<SmolStr> = "LineRef",
        /// The name of its line.
        published_line_names: Vec<LanguageText> = "PublishedLineName",
        /// Its direction.
        directions: Vec<AffectedDirection> = "Direction",
        /// Its first stops.
        origins: Vec<AffectedStopPoint> = "Origins",
        /// Its last stops.
        destinations: Vec<AffectedStopPoint> = "Destinations",
        /// Its routes, with the stops of each that are affected.
        routes: Vec<AffectedRoute> = "Route",
        /// When it leaves its first stop, by the timetable.
        origin_aimed_departure_time: Option<SiriTime> = "OriginAimedDepartureTime",
        /// When it reaches its last stop, by the timetable.
        destination_aimed_arrival_time: Option<SiriTime> = "DestinationAimedArrivalTime",
    }

    /// A place that is affected and is no stop.
    pub struct AffectedPlace {
        /// The place.
        place_ref: Option<SmolStr> = "PlaceRef",
        /// Its name.
        place_names: Vec<LanguageText> = "PlaceName",
    }

    /// A vehicle that is affected.
    pub struct AffectedVehicle {
        /// The vehicle.
        vehicle_ref: Option<SmolStr> = "VehicleRef",
    }

    /// Whom and what it affects.
    pub struct Affects {
        /// Operators.
        operators: Option<AffectedOperators> = "Operators",
        /// Networks and lines.
        networks: Vec<AffectedNetwork> = "Networks" > "AffectedNetwork",
        /// Stops and quays.
        stop_points: Vec<AffectedStopPoint> = "StopPoints" > "AffectedStopPoint",
        /// Stations and other places.
        stop_places: Vec<AffectedStopPlace> = "StopPlaces" > "AffectedStopPlace",
        /// Places of any other kind.
        places: Vec<AffectedPlace> = "Places" > "AffectedPlace",
        /// Journeys.
        vehicle_journeys: Vec<AffectedVehicleJourney> = "VehicleJourneys" > "AffectedVehicleJourney",
        /// Vehicles, whatever they run.
        vehicles: Vec<AffectedVehicle> = "Vehicles" > "AffectedVehicle",
    }

    /// Whether those who plan journeys should avoid what is affected.
    pub struct Blocking {
        /// In planning.
        journey_planner: Option<bool> = "JourneyPlanner",
        /// In predictions.
        real_time: Option<bool> = "RealTime",
    }

    /// What passengers can do at stops that are affected.
    pub struct Boarding {
        /// At arrivals.
        arrival_boarding_activity: Option<ArrivalBoardingActivity> = "ArrivalBoardingActivity",
        /// At departures.
        departure_boarding_activity: Option<DepartureBoardingActivity> = "DepartureBoardingActivity",
    }

    /// How late services are.
    pub struct Delays {
        /// Between which bounds.
        delay_band: Option<SmolStr> = "DelayBand",
        /// `delayed`, `diverted` and so on.
        delay_type: Option<SmolStr> = "DelayType",
        /// How late.
        delay: Option<DurationSeconds> = "Delay",
    }

    /// What follows from a situation.
    pub struct Consequence {
        /// When.
        periods: Vec<TimePeriod> = "Period",
        /// `cancelled`, `delayed`, `diverted`, `noService` and so on.
        conditions: Vec<SmolStr> = "Condition",
        /// How bad.
        severity: Option<Severity> = "Severity",
        /// Whom and what it affects, where that is not what the situation affects.
        affects: Option<Box<Affects>> = "Affects",
        /// What planners should avoid.
        blocking: Option<Blocking> = "Blocking",
        /// What passengers can do.
        boarding: Option<Boarding> = "Boarding",
        /// How late services are.
        delays: Option<Delays> = "Delays",
    }

    /// Texts of one length, in several languages, split by what they say: how Swiss and German producers inform.
    pub struct TextualContent {
        /// `S`, `M` or `L`.
        textual_content_size: Option<SmolStr> = "TextualContentSize",
        /// What it is.
        summary_texts: Vec<LanguageText> = "SummaryContent" > "SummaryText",
        /// Why.
        reason_texts: Vec<LanguageText> = "ReasonContent" > "ReasonText",
        /// More about it.
        description_texts: Vec<LanguageText> = "DescriptionContent" > "DescriptionText",
        /// What follows.
        consequence_texts: Vec<LanguageText> = "ConsequenceContent" > "ConsequenceText",
        /// What to do.
        recommendation_texts: Vec<LanguageText> = "RecommendationContent" > "RecommendationText",
        /// How long.
        duration_texts: Vec<LanguageText> = "DurationContent" > "DurationText",
        /// What else there is to say.
        remarks: Vec<LanguageText> = "RemarkContent" > "Remark",
        /// Pages with more about it.
        info_links: Vec<InfoLink> = "InfoLink",
    }

    /// What to tell passengers.
    pub struct PassengerInformationAction {
        /// Its name.
        action_ref: Option<SmolStr> = "ActionRef",
        /// When it was recorded.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// When it is to be told.
        publication_windows: Vec<TimePeriod> = "PublicationWindow",
        /// Its version.
        version: Option<SmolStr> = "Version",
        /// Whose it is.
        owner_ref: Option<SmolStr> = "OwnerRef",
        /// For whom: `general`, `line`, `stopPoint`, `vehicleJourney`.
        perspectives: Vec<SmolStr> = "Perspective",
        /// The texts.
        textual_contents: Vec<TextualContent> = "TextualContent",
    }

    /// Where something is to be told.
    pub struct PublishAtScope {
        /// `line`, `stopPlace` and so on.
        scope_type: Option<SmolStr> = "ScopeType",
        /// The lines, stops and so on.
        affects: Option<Box<Affects>> = "Affects",
    }

    /// Something to be told somewhere.
    pub struct PublishingAction {
        /// Where.
        publish_at_scope: Option<PublishAtScope> = "PublishAtScope",
        /// What.
        passenger_information_actions: Vec<PassengerInformationAction> = "PassengerInformationAction",
    }

    /// A situation that concerns public transport.
    pub struct PtSituationElement: named {
        ?unread,
        /// When it was made.
        creation_time: Option<SiriTime> = "CreationTime",
        /// Its country.
        country_ref: Option<SmolStr> = "CountryRef",
        /// Whose situation it is.
        participant_ref: Option<SmolStr> = "ParticipantRef",
        /// Its number there.
        situation_number: Option<SmolStr> = "SituationNumber",
        /// Its version.
        version: Option<SmolStr> = "Version",
        /// Situations that it has to do with.
        related_to_refs: Vec<RelatedToRef> = "References" > "RelatedToRef",
        /// From where it is known.
        source: Option<SituationSource> = "Source",
        /// When this version was made.
        versioned_at_time: Option<SiriTime> = "VersionedAtTime",
        /// Whether it has been verified.
        verification: Option<SmolStr> = "Verification",
        /// How far its handling has come.
        progress: Option<Progress> = "Progress",
        /// How certain it is.
        quality_index: Option<SmolStr> = "QualityIndex",
        /// `real`, `securityExercise`, `test` and so on.
        reality: Option<SmolStr> = "Reality",
        /// When it holds.
        validity_periods: Vec<TimePeriod> = "ValidityPeriod",
        /// When passengers are to know of it.
        publication_windows: Vec<TimePeriod> = "PublicationWindow",
        /// The cause, by the one list of 2.1.
        alert_cause: Option<SmolStr> = "AlertCause",
        /// The cause is not known.
        unknown_reason: Option<SmolStr> = "UnknownReason",
        /// A cause of no other kind.
        miscellaneous_reason: Option<SmolStr> = "MiscellaneousReason",
        /// A cause among staff.
        personnel_reason: Option<SmolStr> = "PersonnelReason",
        /// A cause in equipment.
        equipment_reason: Option<SmolStr> = "EquipmentReason",
        /// A cause in the environment.
        environment_reason: Option<SmolStr> = "EnvironmentReason",
        /// No cause is said.
        undefined_reason: PresenceFlag = "UndefinedReason",
        /// The event that causes it.
        public_event_reason: Option<SmolStr> = "PublicEventReason",
        /// The cause in words.
        reason_names: Vec<LanguageText> = "ReasonName",
        /// How bad it is.
        severity: Option<Severity> = "Severity",
        /// How much it matters; 1 is most.
        priority: Option<u32> = "Priority",
        /// How confidential it is.
        sensitivity: Option<SmolStr> = "Sensitivity",
        /// Whom it is for.
        audience: Option<SmolStr> = "Audience",
        /// What kind of thing it affects: `line`, `stopPlace` and so on.
        scope_type: Option<SmolStr> = "ScopeType",
        /// `general` or `incident`, in the Nordic profile.
        report_type: Option<SmolStr> = "ReportType",
        /// Whether it was planned.
        planned: Option<bool> = "Planned",
        /// Words to find it by.
        keywords: Vec<SmolStr> = "Keywords",
        /// The language of texts that do not say theirs.
        language: Option<SmolStr> = "Language",
        /// What it is.
        summaries: Vec<LanguageText> = "Summary",
        /// More about it.
        descriptions: Vec<LanguageText> = "Description",
        /// Still more.
        details: Vec<LanguageText> = "Detail",
        /// What to do.
        advices: Vec<LanguageText> = "Advice",
        /// Pages with more about it.
        info_links: Vec<InfoLink> = "InfoLinks" > "InfoLink",
        /// Whom and what it affects.
        affects: Option<Box<Affects>> = "Affects",
        /// What follows.
        consequences: Vec<Consequence> = "Consequences" > "Consequence",
        /// What is to be told where.
        publishing_actions: Vec<PublishingAction> = "PublishingActions" > "PublishingAction",
    }
}

impl IdentifiedRecord for PtSituationElement {
    fn record_id(&self) -> Option<&str> {
        self.situation_number.as_deref()
    }

    fn missing_field(&self) -> Option<&'static str> {
        self.situation_number.is_none().then_some("SituationNumber")
    }
}
