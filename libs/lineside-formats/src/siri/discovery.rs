//! Discovery of available lines and stops, which consumers request first.

use smol_str::SmolStr;

use super::{
    CommonDeliveryFields, LanguageText, Location, SiriTime,
    record::{IdentifiedRecord, records},
};

records! {
    /// A destination of a line's journeys.
    pub struct AnnotatedDestination {
        /// The last stop.
        destination_ref: Option<SmolStr> = "DestinationRef",
        /// Its name.
        place_names: Vec<LanguageText> = "PlaceName",
        /// The direction of the destination.
        direction_ref: Option<SmolStr> = "DirectionRef",
    }

    /// A direction of a line.
    pub struct RouteDirection {
        /// The direction, by the producer's id.
        direction_ref: Option<SmolStr> = "DirectionRef",
        /// Its name.
        direction_names: Vec<LanguageText> = "DirectionName",
    }

    /// An available line.
    pub struct AnnotatedLineRef: named {
        /// The line.
        line_ref: Option<SmolStr> = "LineRef",
        /// Its name or number.
        line_names: Vec<LanguageText> = "LineName",
        /// True if the line has real-time data.
        monitored: Option<bool> = "Monitored",
        /// The destinations of its journeys.
        destinations: Vec<AnnotatedDestination> = "Destinations" > "Destination",
        /// Its directions.
        directions: Vec<RouteDirection> = "Directions" > "Direction",
    }

    /// An available stop.
    pub struct AnnotatedStopPointRef: named {
        /// The stop or quay.
        stop_point_ref: Option<SmolStr> = "StopPointRef",
        /// True if vehicles wait at the stop for their scheduled time.
        timing_point: Option<bool> = "TimingPoint",
        /// True if the stop has real-time data.
        monitored: Option<bool> = "Monitored",
        /// Its name.
        stop_names: Vec<LanguageText> = "StopName",
        /// The place that contains it.
        stop_area_ref: Option<SmolStr> = "StopAreaRef",
        /// The lines that call there.
        lines: Vec<SmolStr> = "Lines" > "LineRef",
        /// The position.
        location: Option<Location> = "Location",
        /// A web page about it.
        url: Option<SmolStr> = "Url",
    }

    /// The available lines.
    pub struct LinesDelivery: answer {
        ..head: CommonDeliveryFields,
        /// The lines.
        annotated_line_refs: Vec<AnnotatedLineRef> = "AnnotatedLineRef",
    }

    /// The available stops.
    pub struct StopPointsDelivery: answer {
        ..head: CommonDeliveryFields,
        /// The stops.
        annotated_stop_point_refs: Vec<AnnotatedStopPointRef> = "AnnotatedStopPointRef",
    }

    /// Requests the available lines.
    pub struct LinesRequest: payload {
        /// Time of the request.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// The requestor.
        requestor_ref: Option<SmolStr> = "RequestorRef",
        /// The id of this message.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// The operator of the requested lines.
        operator_ref: Option<SmolStr> = "OperatorRef",
        /// The level of detail.
        lines_detail_level: Option<SmolStr> = "LinesDetailLevel",
    }

    /// Requests the available stops.
    pub struct StopPointsRequest: payload {
        /// Time of the request.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// The requestor.
        requestor_ref: Option<SmolStr> = "RequestorRef",
        /// The id of this message.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// The operator at the requested stops.
        operator_ref: Option<SmolStr> = "OperatorRef",
        /// The line at the requested stops.
        line_ref: Option<SmolStr> = "LineRef",
        /// The level of detail.
        stop_points_detail_level: Option<SmolStr> = "StopPointsDetailLevel",
    }
}

impl IdentifiedRecord for AnnotatedLineRef {
    fn record_id(&self) -> Option<&str> {
        self.line_ref.as_deref()
    }

    fn missing_field(&self) -> Option<&'static str> {
        self.line_ref.is_none().then_some("LineRef")
    }
}

impl IdentifiedRecord for AnnotatedStopPointRef {
    fn record_id(&self) -> Option<&str> {
        self.stop_point_ref.as_deref()
    }

    fn missing_field(&self) -> Option<&'static str> {
        self.stop_point_ref.is_none().then_some("StopPointRef")
    }
}
