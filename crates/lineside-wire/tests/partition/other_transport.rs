//! A transport that is implemented outside of the crate: the data of each delivery on one line.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _};
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{ClientDelivery, EncodedChannelName, Session, SessionLimits};
use lineside_wire::partition::{
    ConnectionCloseReason, ConnectionEnding, OpenedTransport, ReceiveStep, ThreadCodecs, Transport,
    TransportOpening, TransportRequest,
};

use crate::stage::{ClientSocket, Stage, eventually};

/// The last line of a stream that the server closes.
const END: &[u8] = b"end\n";

#[derive(Debug)]
struct LinesRequest(&'static str);

struct Lines {
    session: Session,
    has_ended: bool,
}

impl TransportRequest for LinesRequest {
    fn open_transport(&self, opening: TransportOpening<'_>) -> Option<OpenedTransport> {
        let mut session = opening.open_session(SessionLimits::default());
        session.subscribe(&EncodedChannelName::parse_channel_name(self.0).ok()?, None).ok()?;
        let transport = Box::new(Lines { session, has_ended: false });
        Some(OpenedTransport { transport, first: Bytes::from_static(b"begin\n") })
    }
}

impl Transport for Lines {
    fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    fn next_message(&mut self, into: &mut Vec<Bytes>, _: &mut ThreadCodecs) -> bool {
        let Some(delivery) = self.session.next_delivery() else { return false };
        let data = match &delivery {
            ClientDelivery::State { state, part, .. } => state.parts()[*part].data(),
            ClientDelivery::Publication { publication, .. } => publication.payload.data(),
            _ => {
                self.has_ended = true;
                return false;
            }
        };
        into.extend([data.clone(), Bytes::from_static(b"\n")]);
        true
    }

    fn own_ending(&self) -> Option<ConnectionEnding> {
        self.has_ended
            .then_some(ConnectionEnding { why: ConnectionCloseReason::Changed, last: None })
    }

    fn receive_bytes(
        &mut self,
        _: &mut [u8],
        _: Duration,
        _: &mut ThreadCodecs,
        _: &mut VecDeque<Bytes>,
    ) -> ReceiveStep {
        ReceiveStep::End(ConnectionEnding {
            why: ConnectionCloseReason::Protocol,
            last: Some(Bytes::from_static(END)),
        })
    }

    fn write_ping(&mut self, _: Duration, out: &mut VecDeque<Bytes>) {
        out.push_back(Bytes::from_static(b"\n"));
    }

    fn handle_due(&mut self, _: Duration, _: &mut VecDeque<Bytes>) -> Option<ConnectionEnding> {
        None
    }

    fn next_due(&self) -> Option<Duration> {
        None
    }

    fn closing_message(&self, _: ConnectionCloseReason) -> Option<Bytes> {
        Some(Bytes::from_static(END))
    }
}

fn next_line(lines: &mut BufReader<ClientSocket>) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).expect("a line");
    line
}

#[test]
fn a_partition_serves_a_transport_that_it_does_not_know() {
    let stage = Stage::new(10);
    let mut lines = BufReader::new(stage.connect(LinesRequest("feed/1"), b"head\n"));
    assert_eq!([next_line(&mut lines), next_line(&mut lines)], ["head\n", "begin\n"]);
    assert!(next_line(&mut lines).contains(r#""state":{"part":1,"parts":1}"#));
    stage.publish(1, 3);
    assert!(next_line(&mut lines).contains(r#""filling":"yyy""#));
    assert_eq!(stage.partitions.metrics().connection_count(), 1);

    stage.partitions.close_connections_evenly(Duration::ZERO);
    assert_eq!(next_line(&mut lines).as_bytes(), END);
    eventually("the connection ends", || {
        stage.partitions.metrics().closed_connection_count(ConnectionCloseReason::Shutdown) == 1
    });
}

#[test]
fn a_request_that_cannot_be_opened_gets_the_refusal() {
    let stage = Stage::new(10);
    let mut reply = String::new();
    let mut socket = stage.connect(LinesRequest("feed/9"), b"head\n");
    socket.read_to_string(&mut reply).expect("a reply");
    assert_eq!(reply, "full");
}
