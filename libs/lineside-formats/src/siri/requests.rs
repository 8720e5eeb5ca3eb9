//! Records of consumers' messages: requests, subscriptions, and their termination. The server reads them, the client
//! writes them.

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

    /// Requests journeys.
    pub struct EstimatedTimetableRequest: versioned {
        /// The version of SIRI and of the profile.
        version: Option<SmolStr> = "version" | "Version",
        /// Time of the request.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// The id of this message.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// Length of the preview.
        preview_interval: Option<DurationSeconds> = "PreviewInterval",
        /// The version of the timetable.
        timetable_version_ref: Option<SmolStr> = "TimetableVersionRef",
        /// The operators.
        operator_refs: Vec<SmolStr> = "OperatorRef",
        /// The lines.
        lines: Vec<LineDirection> = "Lines" > "LineDirection",
    }

    /// Requests vehicles.
    pub struct VehicleMonitoringRequest: versioned {
        /// The version of SIRI and of the profile.
        version: Option<SmolStr> = "version" | "Version",
        /// Time of the request.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// The id of this message.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// The group of vehicles.
        vehicle_monitoring_ref: Option<SmolStr> = "VehicleMonitoringRef",
        /// The vehicle.
        vehicle_ref: Option<SmolStr> = "VehicleRef",
        /// The line.
        line_ref: Option<SmolStr> = "LineRef",
        /// The direction.
        direction_ref: Option<SmolStr> = "DirectionRef",
        /// Maximum number of vehicles.
        maximum_vehicles: Option<u32> = "MaximumVehicles",
        /// The level of detail.
        vehicle_monitoring_detail_level: Option<SmolStr> = "VehicleMonitoringDetailLevel",
    }

    /// Requests calls at a stop.
    pub struct StopMonitoringRequest: versioned {
        /// The version of SIRI and of the profile.
        version: Option<SmolStr> = "version" | "Version",
        /// Time of the request.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// The id of this message.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// Length of the preview.
        preview_interval: Option<DurationSeconds> = "PreviewInterval",
        /// Start of the preview.
        start_time: Option<SiriTime> = "StartTime",
        /// The stop.
        monitoring_ref: Option<SmolStr> = "MonitoringRef",
        /// The operator.
        operator_ref: Option<SmolStr> = "OperatorRef",
        /// The line.
        line_ref: Option<SmolStr> = "LineRef",
        /// The direction.
        direction_ref: Option<SmolStr> = "DirectionRef",
        /// The destination.
        destination_ref: Option<SmolStr> = "DestinationRef",
        /// `all`, `arrivals`, `departures`.
        stop_visit_types: Option<SmolStr> = "StopVisitTypes",
        /// Maximum number of visits.
        maximum_stop_visits: Option<u32> = "MaximumStopVisits",
        /// Minimum number of visits per line.
        minimum_stop_visits_per_line: Option<u32> = "MinimumStopVisitsPerLine",
        /// The level of detail.
        stop_monitoring_detail_level: Option<SmolStr> = "StopMonitoringDetailLevel",
    }

    /// Requests situations.
    pub struct SituationExchangeRequest: versioned {
        /// The version of SIRI and of the profile.
        version: Option<SmolStr> = "version" | "Version",
        /// Time of the request.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// The id of this message.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// Length of the preview.
        preview_interval: Option<DurationSeconds> = "PreviewInterval",
        /// Start of the preview.
        start_time: Option<SiriTime> = "StartTime",
        /// Minimum severity.
        severity: Option<Severity> = "Severity",
        /// The affected operators.
        operator_refs: Vec<SmolStr> = "OperatorRef",
        /// The affected lines.
        line_refs: Vec<SmolStr> = "LineRef",
        /// The affected stops.
        stop_point_refs: Vec<SmolStr> = "StopPointRef",
    }

    /// Requests data of any services.
    pub struct ServiceRequest: payload {
        /// Time of the request.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// The requestor.
        requestor_ref: Option<SmolStr> = "RequestorRef",
        /// The id of this message.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// The requests for journeys.
        estimated_timetables: Vec<EstimatedTimetableRequest> = "EstimatedTimetableRequest",
        /// The requests for vehicles.
        vehicle_monitorings: Vec<VehicleMonitoringRequest> = "VehicleMonitoringRequest",
        /// The requests for calls at stops.
        stop_monitorings: Vec<StopMonitoringRequest> = "StopMonitoringRequest",
        /// The requests for situations.
        situation_exchanges: Vec<SituationExchangeRequest> = "SituationExchangeRequest",
    }

    /// Settings of all subscriptions of a request.
    pub struct SubscriptionContext {
        /// Requested interval of heartbeats.
        heartbeat_interval: Option<DurationSeconds> = "HeartbeatInterval",
    }

    /// Subscribes to journeys.
    pub struct EstimatedTimetableSubscriptionRequest {
        /// The subscriber.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// The subscriber's id of the subscription.
        subscription_identifier: Option<SmolStr> = "SubscriptionIdentifier",
        /// End of the subscription.
        initial_termination_time: Option<SiriTime> = "InitialTerminationTime",
        /// The subscribed request.
        request: Option<Box<EstimatedTimetableRequest>> = "EstimatedTimetableRequest",
        /// True if only changes are requested.
        incremental_updates: Option<bool> = "IncrementalUpdates",
        /// Minimum change of a time that causes an update.
        change_before_updates: Option<DurationSeconds> = "ChangeBeforeUpdates",
    }

    /// Subscribes to vehicles.
    pub struct VehicleMonitoringSubscriptionRequest {
        /// The subscriber.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// The subscriber's id of the subscription.
        subscription_identifier: Option<SmolStr> = "SubscriptionIdentifier",
        /// End of the subscription.
        initial_termination_time: Option<SiriTime> = "InitialTerminationTime",
        /// The subscribed request.
        request: Option<Box<VehicleMonitoringRequest>> = "VehicleMonitoringRequest",
        /// True if only changes are requested.
        incremental_updates: Option<bool> = "IncrementalUpdates",
        /// Minimum change of a time that causes an update.
        change_before_updates: Option<DurationSeconds> = "ChangeBeforeUpdates",
        /// Interval of updates.
        update_interval: Option<DurationSeconds> = "UpdateInterval",
    }

    /// Subscribes to calls at a stop.
    pub struct StopMonitoringSubscriptionRequest {
        /// The subscriber.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// The subscriber's id of the subscription.
        subscription_identifier: Option<SmolStr> = "SubscriptionIdentifier",
        /// End of the subscription.
        initial_termination_time: Option<SiriTime> = "InitialTerminationTime",
        /// The subscribed request.
        request: Option<Box<StopMonitoringRequest>> = "StopMonitoringRequest",
        /// True if only changes are requested.
        incremental_updates: Option<bool> = "IncrementalUpdates",
        /// Minimum change of a time that causes an update.
        change_before_updates: Option<DurationSeconds> = "ChangeBeforeUpdates",
    }

    /// Subscribes to situations.
    pub struct SituationExchangeSubscriptionRequest {
        /// The subscriber.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// The subscriber's id of the subscription.
        subscription_identifier: Option<SmolStr> = "SubscriptionIdentifier",
        /// End of the subscription.
        initial_termination_time: Option<SiriTime> = "InitialTerminationTime",
        /// The subscribed request.
        request: Option<Box<SituationExchangeRequest>> = "SituationExchangeRequest",
        /// True if only changes are requested.
        incremental_updates: Option<bool> = "IncrementalUpdates",
    }

    /// Subscribes to data of any services.
    pub struct SubscriptionRequest: payload {
        /// Time of the request.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// Address for the data.
        address: Option<SmolStr> = "Address",
        /// The requestor.
        requestor_ref: Option<SmolStr> = "RequestorRef",
        /// The id of this message.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// Address for the data, if it differs from that for answers.
        consumer_address: Option<SmolStr> = "ConsumerAddress",
        /// Settings of all subscriptions.
        subscription_context: Option<SubscriptionContext> = "SubscriptionContext",
        /// The subscriptions to journeys.
        estimated_timetables: Vec<EstimatedTimetableSubscriptionRequest> = "EstimatedTimetableSubscriptionRequest",
        /// The subscriptions to vehicles.
        vehicle_monitorings: Vec<VehicleMonitoringSubscriptionRequest> = "VehicleMonitoringSubscriptionRequest",
        /// The subscriptions to calls at stops.
        stop_monitorings: Vec<StopMonitoringSubscriptionRequest> = "StopMonitoringSubscriptionRequest",
        /// The subscriptions to situations.
        situation_exchanges: Vec<SituationExchangeSubscriptionRequest> = "SituationExchangeSubscriptionRequest",
    }

    /// Terminates subscriptions.
    pub struct TerminateSubscriptionRequest: payload {
        /// Time of the request.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// The requestor.
        requestor_ref: Option<SmolStr> = "RequestorRef",
        /// The id of this message.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// The subscriber.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// True to terminate all subscriptions.
        all: PresenceFlag = "All",
        /// The subscriptions to terminate.
        subscription_refs: Vec<SmolStr> = "SubscriptionRef",
    }

    /// Fetches announced data.
    pub struct DataSupplyRequest: payload {
        /// Time of the request.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// The consumer.
        consumer_ref: Option<SmolStr> = "ConsumerRef",
        /// The id of this message.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// The answered announcement.
        notification_ref: Option<SmolStr> = "NotificationRef",
        /// True to fetch all data, also those already fetched.
        all_data: Option<bool> = "AllData",
    }

    /// Acknowledges an announcement.
    pub struct DataReadyAcknowledgement: payload {
        /// Time of the acknowledgement.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// The consumer.
        consumer_ref: Option<SmolStr> = "ConsumerRef",
        /// The announcement.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// True if it was understood.
        status: Option<bool> = "Status",
        /// The error, if the status is false.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
    }

    /// Requests the status of a producer.
    pub struct CheckStatusRequest: payload {
        /// Time of the request.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// The requestor.
        requestor_ref: Option<SmolStr> = "RequestorRef",
        /// The id of this message.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
    }
}
