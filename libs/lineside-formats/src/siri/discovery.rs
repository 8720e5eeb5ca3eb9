//! Which lines and stops there are: what consumers ask before they ask for anything else.

use smol_str::SmolStr;

use super::{
    DeliveryHead, LanguageText, Location, SiriTime,
    record::{IdentifiedRecord, records},
};

records! {
    /// Where journeys of a line end.
    pub struct AnnotatedDestination {
        /// The last stop.
        destination_ref: Option<SmolStr> = "DestinationRef",
        /// Its name.
        place_names: Vec<LanguageText> = "PlaceName",
        /// The direction in which it lies.
        direction_ref: Option<SmolStr> = "DirectionRef",
    }

    /// A direction of a line.
    pub struct RouteDirection {
        /// The direction, by the producer's names.
        direction_ref: Option<SmolStr> = "DirectionRef",
        /// Its name.
        direction_names: Vec<LanguageText> = "DirectionName",
    }

    /// A line that can be asked for.
    pub struct AnnotatedLineRef: named {
        /// The line.
        line_ref: Option<SmolStr> = "LineRef",
        /// Its name or number.
        line_names: Vec<LanguageText> = "LineName",
        /// Whether there are real-time data of it.
        monitored: Option<bool> = "Monitored",
        /// Where its journeys end.
        destinations: Vec<AnnotatedDestination> = "Destinations" > "Destination",
        /// Its directions.
        directions: Vec<RouteDirection> = "Directions" > "Direction",
    }

    /// A stop that can be asked for.
    pub struct AnnotatedStopPointRef: named {
        /// The stop or quay.
        stop_point_ref: Option<SmolStr> = "StopPointRef",
        /// Whether vehicles wait there for their time.
        timing_point: Option<bool> = "TimingPoint",
        /// Whether there are real-time data of it.
        monitored: Option<bool> = "Monitored",
        /// Its name.
        stop_names: Vec<LanguageText> = "StopName",
        /// The place to which it belongs.
        stop_area_ref: Option<SmolStr> = "StopAreaRef",
        /// The lines that call there.
        lines: Vec<SmolStr> = "Lines" > "LineRef",
        /// Where it is.
        location: Option<Location> = "Location",
        /// A page about it.
        url: Option<SmolStr> = "Url",
    }

    /// The lines that there are.
    pub struct LinesDelivery: answer {
        ..head: DeliveryHead,
        /// The lines.
        annotated_line_refs: Vec<AnnotatedLineRef> = "AnnotatedLineRef",
    }

    /// The stops that there are.
    pub struct StopPointsDelivery: answer {
        ..head: DeliveryHead,
        /// The stops.
        annotated_stop_point_refs: Vec<AnnotatedStopPointRef> = "AnnotatedStopPointRef",
    }

    /// Asks which lines there are.
    pub struct LinesRequest: payload {
        /// When it was made.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// Who asks.
        requestor_ref: Option<SmolStr> = "RequestorRef",
        /// Its name.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// Of which operator.
        operator_ref: Option<SmolStr> = "OperatorRef",
        /// How much of each.
        lines_detail_level: Option<SmolStr> = "LinesDetailLevel",
    }

    /// Asks which stops there are.
    pub struct StopPointsRequest: payload {
        /// When it was made.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// Who asks.
        requestor_ref: Option<SmolStr> = "RequestorRef",
        /// Its name.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
        /// Of which operator.
        operator_ref: Option<SmolStr> = "OperatorRef",
        /// Of which line.
        line_ref: Option<SmolStr> = "LineRef",
        /// How much of each.
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
