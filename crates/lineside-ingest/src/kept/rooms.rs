//! Logs of channels between the hub's form and the file's.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use lineside_hub::{Channel, Epoch, Extras, KeptPublication, KeptRoom, Member};

use super::form;

impl From<&KeptRoom> for form::Room {
    fn from(room: &KeptRoom) -> form::Room {
        form::Room {
            channel: room.channel.to_string(),
            epoch: room.epoch.bits(),
            floor: room.floor,
            state_bytes: room.state_bytes as u64,
            publications: room.publications.iter().map(form::Publication::from).collect(),
        }
    }
}

impl form::Room {
    /// The log; none if its name is no channel's.
    pub(super) fn into_kept(self) -> Option<KeptRoom> {
        Some(KeptRoom {
            channel: Channel::parse(&self.channel).ok()?,
            epoch: Epoch::from_bits(self.epoch),
            floor: self.floor,
            state_bytes: usize::try_from(self.state_bytes).ok()?,
            publications: self.publications.into_iter().map(KeptPublication::from).collect(),
        })
    }
}

impl From<&KeptPublication> for form::Publication {
    fn from(publication: &KeptPublication) -> form::Publication {
        let Extras { publisher, tags, skip_history } = &publication.extras;
        let tags = tags
            .iter()
            .map(|(name, value)| form::Tag { name: name.to_string(), value: value.to_string() });
        form::Publication {
            offset: publication.offset,
            age: u64::try_from(publication.age.as_nanos()).unwrap_or(u64::MAX),
            data: publication.data.clone(),
            publisher: publisher.as_deref().map(form::Member::from),
            tags: tags.collect(),
            skip_history: *skip_history,
        }
    }
}

impl From<form::Publication> for KeptPublication {
    fn from(publication: form::Publication) -> KeptPublication {
        let tags = publication.tags.into_iter().map(|tag| (tag.name.into(), tag.value.into()));
        let extras = Extras {
            publisher: publication.publisher.map(|member| Arc::new(member.into())),
            tags: tags.collect(),
            skip_history: publication.skip_history,
        };
        KeptPublication {
            offset: publication.offset,
            age: Duration::from_nanos(publication.age),
            // The view would keep the whole log for the sake of one publication.
            data: Bytes::copy_from_slice(&publication.data),
            extras,
        }
    }
}

impl From<&Member> for form::Member {
    fn from(member: &Member) -> form::Member {
        form::Member {
            client: member.client.to_string(),
            user: member.user.to_string(),
            connection_info: member.connection_info.clone(),
            channel_info: member.channel_info.clone(),
        }
    }
}

impl From<form::Member> for Member {
    fn from(member: form::Member) -> Member {
        Member {
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
    fn a_log_comes_back_as_it_was() {
        let publisher = Member {
            client: "c".into(),
            user: "u".into(),
            connection_info: Bytes::from_static(b"{}"),
            channel_info: Bytes::from_static(b"[]"),
        };
        let extras = Extras {
            publisher: Some(Arc::new(publisher)),
            tags: vec![("a".into(), "b".into())],
            skip_history: true,
        };
        let publication = |offset, extras| KeptPublication {
            offset,
            age: Duration::from_nanos(1_234_567),
            data: Bytes::from_static(b"{\"x\":1}"),
            extras,
        };
        let room = KeptRoom {
            channel: Channel::parse("app/chat").unwrap(),
            epoch: Epoch::from_bits(99),
            floor: 4,
            state_bytes: 70_000,
            publications: vec![publication(5, extras), publication(9, Extras::default())],
        };
        let bytes = form::Room::from(&room).encode_to_vec();
        assert_eq!(form::Room::decode(&bytes[..]).unwrap().into_kept(), Some(room));
        let nameless = form::Room { channel: "no such form//".into(), ..form::Room::default() };
        assert_eq!(nameless.into_kept(), None);
    }
}
