//! Records of situations for passengers, their scope and their consequences.

use smol_str::SmolStr;

use super::{
    ArrivalBoardingActivity, DepartureBoardingActivity, DurationSeconds, FramedVehicleJourneyRef,
    LanguageText, Location, PresenceFlag, Severity, SiriTime, SituationProgress,
    record::{IdentifiedRecord, records},
};

records! {
    /// A period; without an end it is open.
    pub struct TimePeriod {
        /// The first moment.
        start_time: Option<SiriTime> = "StartTime",
        /// The last moment.
        end_time: Option<SiriTime> = "EndTime",
    }

    /// A reference to a related situation, and the kind of relation.
    pub struct RelatedToRef {
        /// Creation time of the other situation.
        creation_time: Option<SiriTime> = "CreationTime",
        /// The country.
        country_ref: Option<SmolStr> = "CountryRef",
        /// The participant that owns the situation.
        participant_ref: Option<SmolStr> = "ParticipantRef",
        /// The number within the participant.
        situation_number: Option<SmolStr> = "SituationNumber",
        /// Its version.
        version: Option<SmolStr> = "Version",
        /// `closes`, `updates`, `supersedes` and so on.
        related_as: Option<SmolStr> = "RelatedAs",
    }

    /// The source of a situation.
    pub struct SituationSource {
        /// The country.
        country: Option<SmolStr> = "Country",
        /// `directReport`, `feed` and so on.
        source_type: Option<SmolStr> = "SourceType",
        /// Name of the source.
        names: Vec<LanguageText> = "Name",
    }

    /// A link to a web page with more information.
    pub struct InfoLink {
        /// The URL.
        uri: Option<SmolStr> = "Uri",
        /// The link text.
        labels: Vec<LanguageText> = "Label",
    }

    /// An affected operator.
    pub struct AffectedOperator {
        /// The operator.
        operator_ref: Option<SmolStr> = "OperatorRef",
        /// Its name.
        operator_names: Vec<LanguageText> = "OperatorName",
    }

    /// The affected operators.
    pub struct AffectedOperators {
        /// True for all operators.
        all_operators: PresenceFlag = "AllOperators",
        /// Individual operators.
        affected_operators: Vec<AffectedOperator> = "AffectedOperator",
    }

    /// An affected direction.
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

    /// An affected section.
    pub struct AffectedSection {
        /// The section by its id.
        section_ref: Option<SmolStr> = "SectionRef",
        /// The section by its ends.
        indirect_section_ref: Option<IndirectSectionRef> = "IndirectSectionRef",
    }

    /// An affected stop or quay.
    pub struct AffectedStopPoint {
        /// The stop or quay.
        stop_point_ref: Option<SmolStr> = "StopPointRef",
        /// Its name.
        stop_point_names: Vec<LanguageText> = "StopPointName",
        /// `busStop`, `railPlatform` and so on.
        stop_point_type: Option<SmolStr> = "StopPointType",
        /// The position.
        location: Option<Box<Location>> = "Location",
        /// The place that contains it.
        stop_place_ref: Option<SmolStr> = "StopPlaceRef",
        /// Its name.
        stop_place_names: Vec<LanguageText> = "StopPlaceName",
        /// The affected use: `stop`, `notStopping`, `exceptionalStop`, `destination` and so on.
        stop_conditions: Vec<SmolStr> = "StopCondition",
    }

    /// A component of a place, such as a lift.
    pub struct AffectedComponent {
        /// The component.
        component_ref: Option<SmolStr> = "ComponentRef",
        /// Its name.
        component_names: Vec<LanguageText> = "ComponentName",
        /// Its kind.
        component_type: Option<SmolStr> = "ComponentType",
        /// The kind of access.
        access_feature_type: Option<SmolStr> = "AccessFeatureType",
    }

    /// An affected place.
    pub struct AffectedStopPlace {
        /// The place.
        stop_place_ref: Option<SmolStr> = "StopPlaceRef",
        /// Its name.
        place_names: Vec<LanguageText> = "PlaceName",
        /// `railStation` and so on.
        stop_place_type: Option<SmolStr> = "StopPlaceType",
        /// The affected components, if not the whole place is affected.
        affected_components: Vec<AffectedComponent> = "AffectedComponents" > "AffectedComponent",
    }

    /// An affected route.
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

    /// An affected line.
    pub struct AffectedLine {
        /// Its operators.
        affected_operators: Vec<AffectedOperator> = "AffectedOperator",
        /// The line.
        line_ref: Option<SmolStr> = "LineRef",
        /// Its name or number, for passengers.
        published_line_names: Vec<LanguageText> = "PublishedLineName",
        /// Destinations of the affected journeys.
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

    /// An affected network.
    pub struct AffectedNetwork {
        /// Its operators.
        affected_operators: Vec<AffectedOperator> = "AffectedOperator",
        /// The network.
        network_ref: Option<SmolStr> = "NetworkRef",
        /// Its name.
        network_names: Vec<LanguageText> = "NetworkName",
        /// The kind of vehicle: `bus`, `rail` and so on.
        vehicle_mode: Option<SmolStr> = "VehicleMode",
        /// True for all lines of the network.
        all_lines: PresenceFlag = "AllLines",
        /// Individual lines.
        affected_lines: Vec<AffectedLine> = "AffectedLine",
    }

    /// An affected journey.
    pub struct AffectedVehicleJourney {
        /// The journey, by day and id within the day.
        framed_vehicle_journey_ref: Option<FramedVehicleJourneyRef> = "FramedVehicleJourneyRef",
        /// The journey.
        vehicle_journey_refs: Vec<SmolStr> = "VehicleJourneyRef",
        /// The journey on one day.
        dated_vehicle_journey_refs: Vec<SmolStr> = "DatedVehicleJourneyRef",
        /// Its name.
        journey_names: Vec<LanguageText> = "JourneyName",
        /// Its operator.
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
        /// Its routes, with the affected stops of each.
        routes: Vec<AffectedRoute> = "Route",
        /// Scheduled departure from the first stop.
        origin_aimed_departure_time: Option<SiriTime> = "OriginAimedDepartureTime",
        /// Scheduled arrival at the last stop.
        destination_aimed_arrival_time: Option<SiriTime> = "DestinationAimedArrivalTime",
    }

    /// An affected place that is not a stop.
    pub struct AffectedPlace {
        /// The place.
        place_ref: Option<SmolStr> = "PlaceRef",
        /// Its name.
        place_names: Vec<LanguageText> = "PlaceName",
    }

    /// An affected vehicle.
    pub struct AffectedVehicle {
        /// The vehicle.
        vehicle_ref: Option<SmolStr> = "VehicleRef",
    }

    /// The persons and objects that a situation affects.
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
        /// Vehicles, on any journey.
        vehicles: Vec<AffectedVehicle> = "Vehicles" > "AffectedVehicle",
    }

    /// Exclusion of the affected objects from journey planners.
    pub struct Blocking {
        /// True for planning.
        journey_planner: Option<bool> = "JourneyPlanner",
        /// True for predictions.
        real_time: Option<bool> = "RealTime",
    }

    /// Boarding and alighting at affected stops.
    pub struct Boarding {
        /// At arrivals.
        arrival_boarding_activity: Option<ArrivalBoardingActivity> = "ArrivalBoardingActivity",
        /// At departures.
        departure_boarding_activity: Option<DepartureBoardingActivity> = "DepartureBoardingActivity",
    }

    /// Delays of services.
    pub struct Delays {
        /// The band of the delay.
        delay_band: Option<SmolStr> = "DelayBand",
        /// `delayed`, `diverted` and so on.
        delay_type: Option<SmolStr> = "DelayType",
        /// The delay.
        delay: Option<DurationSeconds> = "Delay",
    }

    /// A consequence of a situation.
    pub struct Consequence {
        /// The periods.
        periods: Vec<TimePeriod> = "Period",
        /// `cancelled`, `delayed`, `diverted`, `noService` and so on.
        conditions: Vec<SmolStr> = "Condition",
        /// The severity.
        severity: Option<Severity> = "Severity",
        /// The affected objects, if they differ from those of the situation.
        affects: Option<Box<Affects>> = "Affects",
        /// Exclusion from journey planners.
        blocking: Option<Blocking> = "Blocking",
        /// Boarding and alighting.
        boarding: Option<Boarding> = "Boarding",
        /// Delays.
        delays: Option<Delays> = "Delays",
    }

    /// Texts of one length in several languages, divided by subject, as Swiss and German producers publish them.
    pub struct TextualContent {
        /// `S`, `M` or `L`.
        textual_content_size: Option<SmolStr> = "TextualContentSize",
        /// Summary.
        summary_texts: Vec<LanguageText> = "SummaryContent" > "SummaryText",
        /// Reason.
        reason_texts: Vec<LanguageText> = "ReasonContent" > "ReasonText",
        /// Description.
        description_texts: Vec<LanguageText> = "DescriptionContent" > "DescriptionText",
        /// Consequence.
        consequence_texts: Vec<LanguageText> = "ConsequenceContent" > "ConsequenceText",
        /// Recommendation.
        recommendation_texts: Vec<LanguageText> = "RecommendationContent" > "RecommendationText",
        /// Duration.
        duration_texts: Vec<LanguageText> = "DurationContent" > "DurationText",
        /// Remarks.
        remarks: Vec<LanguageText> = "RemarkContent" > "Remark",
        /// Links to web pages.
        info_links: Vec<InfoLink> = "InfoLink",
    }

    /// A text for passengers.
    pub struct PassengerInformationAction {
        /// The id of the action.
        action_ref: Option<SmolStr> = "ActionRef",
        /// Time of recording.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// The periods of publication.
        publication_windows: Vec<TimePeriod> = "PublicationWindow",
        /// The version.
        version: Option<SmolStr> = "Version",
        /// The owner.
        owner_ref: Option<SmolStr> = "OwnerRef",
        /// The audience: `general`, `line`, `stopPoint`, `vehicleJourney`.
        perspectives: Vec<SmolStr> = "Perspective",
        /// The texts.
        textual_contents: Vec<TextualContent> = "TextualContent",
    }

    /// The place of publication.
    pub struct PublishAtScope {
        /// `line`, `stopPlace` and so on.
        scope_type: Option<SmolStr> = "ScopeType",
        /// The lines, stops and so on.
        affects: Option<Box<Affects>> = "Affects",
    }

    /// An instruction to publish texts.
    pub struct PublishingAction {
        /// The place of publication.
        publish_at_scope: Option<PublishAtScope> = "PublishAtScope",
        /// The texts.
        passenger_information_actions: Vec<PassengerInformationAction> = "PassengerInformationAction",
    }

    /// A situation in public transport.
    pub struct PtSituationElement: named {
        ?unread,
        /// Creation time.
        creation_time: Option<SiriTime> = "CreationTime",
        /// The country.
        country_ref: Option<SmolStr> = "CountryRef",
        /// The participant that owns the situation.
        participant_ref: Option<SmolStr> = "ParticipantRef",
        /// The number within the participant.
        situation_number: Option<SmolStr> = "SituationNumber",
        /// The version.
        version: Option<SmolStr> = "Version",
        /// Related situations.
        related_to_refs: Vec<RelatedToRef> = "References" > "RelatedToRef",
        /// The source.
        source: Option<SituationSource> = "Source",
        /// Creation time of this version.
        versioned_at_time: Option<SiriTime> = "VersionedAtTime",
        /// The state of verification.
        verification: Option<SmolStr> = "Verification",
        /// The workflow status.
        progress: Option<SituationProgress> = "Progress",
        /// The certainty.
        quality_index: Option<SmolStr> = "QualityIndex",
        /// `real`, `securityExercise`, `test` and so on.
        reality: Option<SmolStr> = "Reality",
        /// The periods of validity.
        validity_periods: Vec<TimePeriod> = "ValidityPeriod",
        /// The periods of publication.
        publication_windows: Vec<TimePeriod> = "PublicationWindow",
        /// The cause, from the single list of 2.1.
        alert_cause: Option<SmolStr> = "AlertCause",
        /// An unknown cause.
        unknown_reason: Option<SmolStr> = "UnknownReason",
        /// A miscellaneous cause.
        miscellaneous_reason: Option<SmolStr> = "MiscellaneousReason",
        /// A cause in personnel.
        personnel_reason: Option<SmolStr> = "PersonnelReason",
        /// A cause in equipment.
        equipment_reason: Option<SmolStr> = "EquipmentReason",
        /// A cause in the environment.
        environment_reason: Option<SmolStr> = "EnvironmentReason",
        /// True if the cause is undefined.
        undefined_reason: PresenceFlag = "UndefinedReason",
        /// The event that is the cause.
        public_event_reason: Option<SmolStr> = "PublicEventReason",
        /// The cause as a text.
        reason_names: Vec<LanguageText> = "ReasonName",
        /// The severity.
        severity: Option<Severity> = "Severity",
        /// The priority; 1 is highest.
        priority: Option<u32> = "Priority",
        /// The confidentiality.
        sensitivity: Option<SmolStr> = "Sensitivity",
        /// The audience.
        audience: Option<SmolStr> = "Audience",
        /// The kind of affected object: `line`, `stopPlace` and so on.
        scope_type: Option<SmolStr> = "ScopeType",
        /// `general` or `incident`, in the Nordic profile.
        report_type: Option<SmolStr> = "ReportType",
        /// True if the situation was planned.
        planned: Option<bool> = "Planned",
        /// Keywords.
        keywords: Vec<SmolStr> = "Keywords",
        /// The language of texts that do not state one.
        language: Option<SmolStr> = "Language",
        /// Summary.
        summaries: Vec<LanguageText> = "Summary",
        /// Description.
        descriptions: Vec<LanguageText> = "Description",
        /// Further details.
        details: Vec<LanguageText> = "Detail",
        /// Advice.
        advices: Vec<LanguageText> = "Advice",
        /// Links to web pages.
        info_links: Vec<InfoLink> = "InfoLinks" > "InfoLink",
        /// The affected objects.
        affects: Option<Box<Affects>> = "Affects",
        /// The consequences.
        consequences: Vec<Consequence> = "Consequences" > "Consequence",
        /// Instructions to publish texts.
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
