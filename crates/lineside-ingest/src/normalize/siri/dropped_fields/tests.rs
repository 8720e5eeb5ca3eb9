//! Test that each element that is read changes either the output or the report of dropped elements.

use jiff::tz::TimeZone;
use lineside_formats::{
    gtfs_rt::proto::FeedMessage,
    siri::{self, MessageLimits, sample_delivery_xml},
};

use super::*;
use crate::{normalize::siri_to_gtfs_rt, source::SiriIdMapping};

/// An element with its children or text.
#[derive(Clone, Debug, Default)]
struct Node {
    name: String,
    text: String,
    children: Vec<Node>,
}

/// Collects the visited elements as a tree, and the paths to its texts.
#[derive(Default)]
struct Tree {
    open: Vec<Node>,
    paths: Vec<(Vec<String>, String)>,
}

impl Tree {
    fn element_path(&self, last: &str) -> Vec<String> {
        let names = self.open.iter().skip(1).map(|node| node.name.clone());
        names.chain([last.to_owned()]).collect()
    }
}

impl ElementVisitor for Tree {
    fn enter_element(&mut self, element: &str) -> bool {
        self.open.push(Node { name: element.to_owned(), ..Node::default() });
        true
    }

    fn leave_element(&mut self) {
        if let Some(node) = self.open.pop()
            && let Some(around) = self.open.last_mut()
        {
            around.children.push(node);
        }
    }

    fn visit_text(&mut self, element: &str, text: &str) {
        self.paths.push((self.element_path(element), text.to_owned()));
        let (name, text) = (element.to_owned(), text.to_owned());
        if let Some(around) = self.open.last_mut() {
            around.children.push(Node { name, text, children: Vec::new() });
        }
    }
}

fn tree_of(xml: &str) -> Tree {
    let (message, problems) =
        siri::decode_xml_message(xml.as_bytes(), &TimeZone::UTC, &MessageLimits::default())
            .unwrap();
    assert_eq!(problems.total_count(), 0, "{problems:?}");
    let mut tree = Tree { open: vec![Node::default()], paths: Vec::new() };
    visit_message_elements(&message, &mut tree);
    tree
}

impl Node {
    /// Puts a text at the end of a path.
    fn put(&mut self, element_path: &[String], text: &str) {
        let [name, rest @ ..] = element_path else { return };
        let at = match self.children.iter().rposition(|child| child.name == *name) {
            Some(at) => at,
            None => {
                self.children.push(Node { name: name.clone(), ..Node::default() });
                self.children.len() - 1
            }
        };
        match rest {
            [] => self.children[at].text = text.to_owned(),
            _ => self.children[at].put(rest, text),
        }
    }

    fn write(&self, xml: &mut String) {
        for child in &self.children {
            xml.push_str(&format!("<{}>{}", child.name, child.text));
            child.write(xml);
            xml.push_str(&format!("</{}>", child.name));
        }
    }
}

fn converted(tree: &Node) -> (FeedMessage, ConversionReport) {
    let mut xml = String::from("<Siri xmlns=\"http://www.siri.org.uk/siri\">");
    tree.write(&mut xml);
    xml.push_str("</Siri>");
    let (message, _) =
        siri::decode_xml_message(xml.as_bytes(), &TimeZone::UTC, &MessageLimits::default())
            .unwrap();
    let (out, _, losses) = siri_to_gtfs_rt(&message, &SiriIdMapping::Same, None, &TimeZone::UTC);
    (out, losses)
}

/// Small deliveries, one per service, which contain the elements needed for others to be mapped.
const SMALL: [&str; 5] = [
    "<EstimatedTimetableDelivery><EstimatedJourneyVersionFrame><EstimatedVehicleJourney>\
     <LineRef>L</LineRef><RecordedCalls><RecordedCall><StopPointRef>R</StopPointRef>\
     <AimedArrivalTime>2026-11-21T11:50:00Z</AimedArrivalTime>\
     <AimedDepartureTime>2026-11-21T11:51:00Z</AimedDepartureTime></RecordedCall></RecordedCalls>\
     <EstimatedCalls><EstimatedCall><StopPointRef>S</StopPointRef>\
     <AimedArrivalTime>2026-11-21T12:05:00Z</AimedArrivalTime>\
     <AimedDepartureTime>2026-11-21T12:06:00Z</AimedDepartureTime></EstimatedCall>\
     </EstimatedCalls></EstimatedVehicleJourney></EstimatedJourneyVersionFrame>\
     </EstimatedTimetableDelivery>",
    "<VehicleMonitoringDelivery><VehicleActivity><MonitoredVehicleJourney>\
     <LineRef>L</LineRef><VehicleJourneyRef>J</VehicleJourneyRef>\
     <VehicleLocation><Longitude>1</Longitude><Latitude>2</Latitude></VehicleLocation>\
     <PreviousCalls><PreviousCall><StopPointRef>R</StopPointRef></PreviousCall></PreviousCalls>\
     <MonitoredCall><StopPointRef>S</StopPointRef>\
     <AimedArrivalTime>2026-11-21T12:05:00Z</AimedArrivalTime>\
     <AimedDepartureTime>2026-11-21T12:06:00Z</AimedDepartureTime></MonitoredCall>\
     <OnwardCalls><OnwardCall><StopPointRef>T</StopPointRef>\
     <ExpectedArrivalTime>2026-11-21T12:25:00Z</ExpectedArrivalTime>\
     </OnwardCall></OnwardCalls>\
     </MonitoredVehicleJourney></VehicleActivity></VehicleMonitoringDelivery>",
    "<StopMonitoringDelivery><MonitoredStopVisit><MonitoredVehicleJourney>\
     <LineRef>L</LineRef><VehicleJourneyRef>J</VehicleJourneyRef>\
     <PreviousCalls><PreviousCall><StopPointRef>R</StopPointRef></PreviousCall></PreviousCalls>\
     <MonitoredCall><StopPointRef>S</StopPointRef></MonitoredCall>\
     <OnwardCalls><OnwardCall><StopPointRef>T</StopPointRef></OnwardCall></OnwardCalls>\
     </MonitoredVehicleJourney></MonitoredStopVisit></StopMonitoringDelivery>",
    "<SituationExchangeDelivery><Situations><PtSituationElement>\
     <SituationNumber>N</SituationNumber><Affects><Networks><AffectedNetwork><AffectedLine>\
     <LineRef>L</LineRef></AffectedLine></AffectedNetwork></Networks></Affects>\
     </PtSituationElement></Situations></SituationExchangeDelivery>",
    "<SituationExchangeDelivery><Situations><PtSituationElement>\
     <SituationNumber>N</SituationNumber></PtSituationElement></Situations>\
     </SituationExchangeDelivery>",
];

fn small(delivery: &str) -> Node {
    let xml = format!(
        "<Siri xmlns=\"http://www.siri.org.uk/siri\"><ServiceDelivery>{delivery}</ServiceDelivery></Siri>"
    );
    let mut tree = tree_of(&xml);
    tree.open.pop().unwrap()
}

/// Returns a meaningful text for elements for which their own name is not.
fn meant<'t>(name: &str, text: &'t str) -> &'t str {
    match name {
        "DataFrameRef" => "2026-11-21",
        "DirectionRef" => "1",
        "VehicleMode" => "ferry",
        _ => text,
    }
}

/// Returns the paths to all texts of a delivery in which no element is missing.
fn list_element_paths() -> Vec<(Vec<String>, String)> {
    let element_paths = tree_of(&sample_delivery_xml()).paths;
    assert!(element_paths.len() > 500, "{}", element_paths.len());
    element_paths
}

#[test]
fn an_additional_element_changes_the_output_or_the_report() {
    let mut silent = Vec::new();
    for delivery in SMALL {
        let without = small(delivery);
        let service = &without.children[0].children[0].name;
        let before = converted(&without);
        for (element_path, text) in list_element_paths()
            .iter()
            .filter(|(element_path, _)| element_path.len() < 3 || element_path[1] == *service)
        {
            let mut with = without.clone();
            // An existing element is removed instead.
            if !remove(&mut with, element_path) {
                with.put(element_path, meant(element_path.last().unwrap(), text));
            }
            let (out, losses) = converted(&with);
            if out == before.0 && losses == before.1 {
                silent.push(element_path.join("/"));
            }
        }
    }
    assert!(silent.is_empty(), "neither mapped nor counted as dropped: {silent:#?}");
}

/// Removes the element at the end of a path and returns true if there was one.
fn remove(node: &mut Node, element_path: &[String]) -> bool {
    let [name, rest @ ..] = element_path else { return false };
    let before = node.children.len();
    if rest.is_empty() {
        node.children.retain(|child| child.name != *name);
        return node.children.len() < before;
    }
    let mut within = node.children.iter_mut().filter(|child| child.name == *name);
    within.any(|child| remove(child, rest))
}

#[test]
fn an_unlisted_element_is_counted_as_dropped() {
    for enclosing in [
        EnclosingElement::Journey,
        EnclosingElement::Call,
        EnclosingElement::Situation,
        EnclosingElement::Affects,
        EnclosingElement::Delivery,
    ] {
        assert!(
            matches!(element_mapping(enclosing, "Newly", true), ElementMapping::Dropped(_)),
            "{enclosing:?}"
        );
    }
}

#[test]
fn an_element_with_its_default_value_is_not_dropped() {
    let journey = "<LineRef>L</LineRef><VehicleJourneyRef>J</VehicleJourneyRef>\
                   <Cancellation>false</Cancellation><InPanic>false</InPanic>";
    let delivery = format!(
        "<EstimatedTimetableDelivery><EstimatedJourneyVersionFrame><EstimatedVehicleJourney>{journey}\
         </EstimatedVehicleJourney></EstimatedJourneyVersionFrame></EstimatedTimetableDelivery>"
    );
    assert_eq!(converted(&small(&delivery)).1.dropped_object_count(), 0);
}
