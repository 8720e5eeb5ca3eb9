//! What a consumer sends: requests, subscriptions, and their end. Read where we serve, written where we ask.

use smol_str::SmolStr;

use super::{DurationSeconds, ErrorCondition, PresenceFlag, Severity, SiriTime, record::records};

records! {
    /// A line, in one direction or in both.
    pub struct LineDirection {
        /// The line.
        line_ref: Option<SmolStr> = "LineRef",
        /// The direction.
        direction_ref: Option<SmolStr> = "DirectionRef",
    }

    /// Asks for journeys.
    pub struct EstimatedTimetableRequest: versioned {
        /// The version of SIRI, and of the profile.
        version: Option<SmolStr> = "version" | "Version",
        /// When it was made.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// Its name.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// How far ahead.
        preview_interval: Option<DurationSeconds> = "PreviewInterval",
        /// Of which version of the plan.
        timetable_version_ref: Option<SmolStr> = "TimetableVersionRef",
        /// Of which operators.
        operator_refs: Vec<SmolStr> = "OperatorRef",
        /// Of which lines.
        lines: Vec<LineDirection> = "Lines" > "LineDirection",
    }

    /// Asks for vehicles.
    pub struct VehicleMonitoringRequest: versioned {
        /// The version of SIRI, and of the profile.
        version: Option<SmolStr> = "version" | "Version",
        /// When it was made.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// Its name.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// Of which group of vehicles.
        vehicle_monitoring_ref: Option<SmolStr> = "VehicleMonitoringRef",
        /// Which vehicle.
        vehicle_ref: Option<SmolStr> = "VehicleRef",
        /// Of which line.
        line_ref: Option<SmolStr> = "LineRef",
        /// In which direction.
        direction_ref: Option<SmolStr> = "DirectionRef",
        /// At most how many.
        maximum_vehicles: Option<u32> = "MaximumVehicles",
        /// How much of each.
        vehicle_monitoring_detail_level: Option<SmolStr> = "VehicleMonitoringDetailLevel",
    }

    /// Asks for calls at a stop.
    pub struct StopMonitoringRequest: versioned {
        /// The version of SIRI, and of the profile.
        version: Option<SmolStr> = "version" | "Version",
        /// When it was made.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// Its name.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// How far ahead.
        preview_interval: Option<DurationSeconds> = "PreviewInterval",
        /// From when on.
        start_time: Option<SiriTime> = "StartTime",
        /// At which stop.
        monitoring_ref: Option<SmolStr> = "MonitoringRef",
        /// Of which operator.
        operator_ref: Option<SmolStr> = "OperatorRef",
        /// Of which line.
        line_ref: Option<SmolStr> = "LineRef",
        /// In which direction.
        direction_ref: Option<SmolStr> = "DirectionRef",
        /// To where.
        destination_ref: Option<SmolStr> = "DestinationRef",
        /// `all`, `arrivals`, `departures`.
        stop_visit_types: Option<SmolStr> = "StopVisitTypes",
        /// At most how many.
        maximum_stop_visits: Option<u32> = "MaximumStopVisits",
        /// At least how many of each line.
        minimum_stop_visits_per_line: Option<u32> = "MinimumStopVisitsPerLine",
        /// How much of each.
        stop_monitoring_detail_level: Option<SmolStr> = "StopMonitoringDetailLevel",
    }

    /// Asks for situations.
    pub struct SituationExchangeRequest: versioned {
        /// The version of SIRI, and of the profile.
        version: Option<SmolStr> = "version" | "Version",
        /// When it was made.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// Its name.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// How far ahead.
        preview_interval: Option<DurationSeconds> = "PreviewInterval",
        /// From when on.
        start_time: Option<SiriTime> = "StartTime",
        /// At least how bad.
        severity: Option<Severity> = "Severity",
        /// Concerning which operators.
        operator_refs: Vec<SmolStr> = "OperatorRef",
        /// Concerning which lines.
        line_refs: Vec<SmolStr> = "LineRef",
        /// Concerning which stops.
        stop_point_refs: Vec<SmolStr> = "StopPointRef",
    }

    /// Asks for news of any services.
    pub struct ServiceRequest: payload {
        /// When it was made.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// Who asks.
        requestor_ref: Option<SmolStr> = "RequestorRef",
        /// Its name.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// For journeys.
        estimated_timetables: Vec<EstimatedTimetableRequest> = "EstimatedTimetableRequest",
        /// For vehicles.
        vehicle_monitorings: Vec<VehicleMonitoringRequest> = "VehicleMonitoringRequest",
        /// For calls at stops.
        stop_monitorings: Vec<StopMonitoringRequest> = "StopMonitoringRequest",
        /// For situations.
        situation_exchanges: Vec<SituationExchangeRequest> = "SituationExchangeRequest",
    }

    /// What holds for all subscriptions of a request.
    pub struct SubscriptionContext {
        /// How often the producer is to say that it is up.
        heartbeat_interval: Option<DurationSeconds> = "HeartbeatInterval",
    }

    /// Subscribes to journeys.
    pub struct EstimatedTimetableSubscriptionRequest {
        /// Who subscribes.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// What the subscriber calls it.
        subscription_identifier: Option<SmolStr> = "SubscriptionIdentifier",
        /// Until when.
        initial_termination_time: Option<SiriTime> = "InitialTerminationTime",
        /// To what.
        request: Option<Box<EstimatedTimetableRequest>> = "EstimatedTimetableRequest",
        /// Whether only changes are to be sent.
        incremental_updates: Option<bool> = "IncrementalUpdates",
        /// From which change of a time on.
        change_before_updates: Option<DurationSeconds> = "ChangeBeforeUpdates",
    }

    /// Subscribes to vehicles.
    pub struct VehicleMonitoringSubscriptionRequest {
        /// Who subscribes.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// What the subscriber calls it.
        subscription_identifier: Option<SmolStr> = "SubscriptionIdentifier",
        /// Until when.
        initial_termination_time: Option<SiriTime> = "InitialTerminationTime",
        /// To what.
        request: Option<Box<VehicleMonitoringRequest>> = "VehicleMonitoringRequest",
        /// Whether only changes are to be sent.
        incremental_updates: Option<bool> = "IncrementalUpdates",
        /// From which change of a time on.
        change_before_updates: Option<DurationSeconds> = "ChangeBeforeUpdates",
        /// How often.
        update_interval: Option<DurationSeconds> = "UpdateInterval",
    }

    /// Subscribes to calls at a stop.
    pub struct StopMonitoringSubscriptionRequest {
        /// Who subscribes.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// What the subscriber calls it.
        subscription_identifier: Option<SmolStr> = "SubscriptionIdentifier",
        /// Until when.
        initial_termination_time: Option<SiriTime> = "InitialTerminationTime",
        /// To what.
        request: Option<Box<StopMonitoringRequest>> = "StopMonitoringRequest",
        /// Whether only changes are to be sent.
        incremental_updates: Option<bool> = "IncrementalUpdates",
        /// From which change of a time on.
        change_before_updates: Option<DurationSeconds> = "ChangeBeforeUpdates",
    }

    /// Subscribes to situations.
    pub struct SituationExchangeSubscriptionRequest {
        /// Who subscribes.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// What the subscriber calls it.
        subscription_identifier: Option<SmolStr> = "SubscriptionIdentifier",
        /// Until when.
        initial_termination_time: Option<SiriTime> = "InitialTerminationTime",
        /// To what.
        request: Option<Box<SituationExchangeRequest>> = "SituationExchangeRequest",
        /// Whether only changes are to be sent.
        incremental_updates: Option<bool> = "IncrementalUpdates",
    }

    /// Subscribes to news of any services.
    pub struct SubscriptionRequest: payload {
        /// When it was made.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// Where the news are to be sent.
        address: Option<SmolStr> = "Address",
        /// Who asks.
        requestor_ref: Option<SmolStr> = "RequestorRef",
        /// Its name.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// Where the news are to be sent, where that is not where answers go.
        consumer_address: Option<SmolStr> = "ConsumerAddress",
        /// What holds for all.
        subscription_context: Option<SubscriptionContext> = "SubscriptionContext",
        /// To journeys.
        estimated_timetables: Vec<EstimatedTimetableSubscriptionRequest> = "EstimatedTimetableSubscriptionRequest",
        /// To vehicles.
        vehicle_monitorings: Vec<VehicleMonitoringSubscriptionRequest> = "VehicleMonitoringSubscriptionRequest",
        /// To calls at stops.
        stop_monitorings: Vec<StopMonitoringSubscriptionRequest> = "StopMonitoringSubscriptionRequest",
        /// To situations.
        situation_exchanges: Vec<SituationExchangeSubscriptionRequest> = "SituationExchangeSubscriptionRequest",
    }

    /// Ends subscriptions.
    pub struct TerminateSubscriptionRequest: payload {
        /// When it was made.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// Who asks.
        requestor_ref: Option<SmolStr> = "RequestorRef",
        /// Its name.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// Who subscribed.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// Whether all are to end.
        all: PresenceFlag = "All",
        /// Those that are, by name.
        subscription_refs: Vec<SmolStr> = "SubscriptionRef",
    }

    /// Fetches what a producer has announced.
    pub struct DataSupplyRequest: payload {
        /// When it was made.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// Who asks.
        consumer_ref: Option<SmolStr> = "ConsumerRef",
        /// Its name.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// The announcement that it answers.
        notification_ref: Option<SmolStr> = "NotificationRef",
        /// Whether all that there is is wanted, and not only what was not fetched yet.
        all_data: Option<bool> = "AllData",
    }

    /// Says that an announcement has come.
    pub struct DataReadyAcknowledgement: payload {
        /// When it was made.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// Who says it.
        consumer_ref: Option<SmolStr> = "ConsumerRef",
        /// The announcement.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// Whether it was understood.
        status: Option<bool> = "Status",
        /// Why not.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
    }

    /// Asks whether a producer is up.
    pub struct CheckStatusRequest: payload {
        /// When it was made.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// Who asks.
        requestor_ref: Option<SmolStr> = "RequestorRef",
        /// Its name.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
    }
}
