//! Conversion of channel logs between the hub's types and the file's.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use lineside_hub::{
    EncodedChannelName, Epoch, HandoffPublication, HandoffRoomLog, PresenceMember,
    PublicationExtras,
};

use super::schema;

impl From<&HandoffRoomLog> for schema::ChannelLogProto {
    fn from(room: &HandoffRoomLog) -> schema::ChannelLogProto {
        schema::ChannelLogProto {
            channel: room.channel.to_string(),
            epoch: room.epoch.to_bits(),
            floor: room.floor,
            state_bytes: room.state_bytes as u64,
            publications: room.publications.iter().map(schema::PublicationProto::from).collect(),
        }
    }
}

impl schema::ChannelLogProto {
    /// Converts the log; `None` if its channel name is invalid.
    pub(super) fn into_handoff_room(self) -> Option<HandoffRoomLog> {
        Some(HandoffRoomLog {
            channel: EncodedChannelName::parse_channel_name(&self.channel).ok()?,
            epoch: Epoch::from_bits(self.epoch),
            floor: self.floor,
            state_bytes: usize::try_from(self.state_bytes).ok()?,
            publications: self.publications.into_iter().map(HandoffPublication::from).collect(),
        })
    }
}

impl From<&HandoffPublication> for schema::PublicationProto {
    fn from(publication: &HandoffPublication) -> schema::PublicationProto {
        let PublicationExtras { publisher, tags, skip_history } = &publication.extras;
        let tags = tags.iter().map(|(name, value)| schema::TagProto {
            name: name.to_string(),
            value: value.to_string(),
        });
        schema::PublicationProto {
            offset: publication.offset,
            age: u64::try_from(publication.age.as_nanos()).unwrap_or(u64::MAX),
            data: publication.data.clone(),
            publisher: publisher.as_deref().map(schema::MemberProto::from),
            tags: tags.collect(),
            skip_history: *skip_history,
        }
    }
}

impl From<schema::PublicationProto> for HandoffPublication {
    fn from(publication: schema::PublicationProto) -> HandoffPublication {
        let tags = publication.tags.into_iter().map(|tag| (tag.name.into(), tag.value.into()));
        let extras = PublicationExtras {
            publisher: publication.publisher.map(|member| Arc::new(member.into())),
            tags: tags.collect(),
            skip_history: publication.skip_history,
        };
        HandoffPublication {
            offset: publication.offset,
            age: Duration::from_nanos(publication.age),
            // A slice of the buffer would keep the whole log alive for one publication.
            data: Bytes::copy_from_slice(&publication.data),
            extras,
        }
    }
}

impl From<&PresenceMember> for schema::MemberProto {
    fn from(member: &PresenceMember) -> schema::MemberProto {
        schema::MemberProto {
            client: member.client.to_string(),
            user: member.user.to_string(),
            connection_info: member.connection_info.clone(),
            channel_info: member.channel_info.clone(),
        }
    }
}

impl From<schema::MemberProto> for PresenceMember {
    fn from(member: schema::MemberProto) -> PresenceMember {
        PresenceMember {
            client: member.client.into(),
            user: member.user.into(),
            connection_info: Bytes::copy_from_slice(&member.connection_info),
            channel_info: Bytes::copy_from_slice(&member.channel_info),
        }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[test]
    fn a_channel_log_round_trips() {
        let publisher = PresenceMember {
            client: "c".into(),
            user: "u".into(),
            connection_info: Bytes::from_static(b"{}"),
            channel_info: Bytes::from_static(b"[]"),
        };
        let extras = PublicationExtras {
            publisher: Some(Arc::new(publisher)),
            tags: vec![("a".into(), "b".into())],
            skip_history: true,
        };
        let publication = |offset, extras| HandoffPublication {
            offset,
            age: Duration::from_nanos(1_234_567),
            data: Bytes::from_static(b"{\"x\":1}"),
            extras,
        };
        let room = HandoffRoomLog {
            channel: EncodedChannelName::parse_channel_name("app/chat").unwrap(),
            epoch: Epoch::from_bits(99),
            floor: 4,
            state_bytes: 70_000,
            publications: vec![
                publication(5, extras),
                publication(9, PublicationExtras::default()),
            ],
        };
        let bytes = schema::ChannelLogProto::from(&room).encode_to_vec();
        assert_eq!(
            schema::ChannelLogProto::decode(&bytes[..]).unwrap().into_handoff_room(),
            Some(room)
        );
        let nameless = schema::ChannelLogProto {
            channel: "no such form//".into(),
            ..schema::ChannelLogProto::default()
        };
        assert_eq!(nameless.into_handoff_room(), None);
    }
}
