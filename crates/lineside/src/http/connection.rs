//! One connection of HTTP: served until it ends, or until it becomes a session.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::Watcher;
use hyper_util::service::TowerToHyperService;
use lineside_wire::partition::{Newcomer, Partitions};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tower::ServiceExt as _;

use super::admission::{Admission, Place};
use super::proxies::{Peer, Proxies};
use super::takeover::{self, Connection, Door, Leaving, Watched};
use crate::shutdown::Shutdown;

/// What serves one connection of HTTP/1, until it ends or goes to a partition.
pub(super) struct Http1 {
    pub(super) builder: http1::Builder,
    pub(super) router: Router,
    pub(super) partitions: Option<Arc<Partitions>>,
    pub(super) refusal: Bytes,
    pub(super) shutdown: Shutdown,
    pub(super) peer: Peer,
    pub(super) client: Option<Behind>,
}

/// What tells whose connection it is when a proxy made it.
pub(super) struct Behind {
    pub(super) proxy: IpAddr,
    pub(super) proxies: Proxies,
    pub(super) admission: Arc<Admission>,
}

impl Http1 {
    pub(super) async fn drive(self, socket: impl Connection, place: Place) {
        let Self { builder, router, partitions, refusal, shutdown, peer, client } = self;
        let place = Arc::new(Mutex::new(place));
        let client = client.map(|client| (Arc::new(client), Arc::clone(&place)));
        let door = Door::new();
        let opened = door.clone();
        let service = service_fn(move |mut request: http::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let (router, door) = (router.clone(), opened.clone());
            let client = client.clone().map(|(behind, place)| {
                (behind.proxies.client(behind.proxy, request.headers()), behind, place)
            });
            Box::pin(async move {
                let Ok(response) = router.oneshot(request.map(Body::new)).await;
                // A session counts for who is at its other end, not for the proxy between.
                if takeover::is_one(&response)
                    && let Some((address, behind, place)) = client
                    && !behind.admission.assign(&mut place.lock(), address)
                {
                    return Ok(takeover::overloaded());
                }
                Ok::<_, Infallible>(door.pass(response).await)
            })
        });
        let io = TokioIo::new(Watched::new(socket, door.clone()));
        let mut connection = builder.serve_connection(io, service);
        let mut closing = pin!(shutdown.closing());
        let mut is_closing = false;
        let ended = poll_fn(|cx| {
            if !is_closing && closing.as_mut().poll(cx).is_ready() {
                is_closing = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
            match Pin::new(&mut connection).poll(cx) {
                Poll::Ready(ended) => Poll::Ready(Some(ended)),
                Poll::Pending if door.is_open() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        });
        if let Some(ended) = ended.await {
            return tell_of_end(ended.err());
        }
        let parts = connection.into_parts();
        let Some(Leaving { head, asks }) = door.take() else { return };
        let (socket, tls) = match parts.io.into_inner().into_inner().take_apart() {
            Ok(apart) => apart,
            Err(error) => return tell_of_end(Some(error)),
        };
        let (unread, place) = (parts.read_buf, Box::new(place));
        let newcomer = Newcomer { socket, tls, unread, head, refusal, asks, place };
        hand_over(partitions.as_deref(), Box::new(newcomer));
    }
}

/// What serves one connection of HTTP/2, until it ends.
pub(super) struct Http2 {
    pub(super) builder: auto::Builder<TokioExecutor>,
    pub(super) watcher: Watcher,
    pub(super) peer: Peer,
}

impl Http2 {
    pub(super) async fn drive(
        self,
        socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        router: Router,
        place: Place,
    ) {
        let Self { builder, watcher, peer } = self;
        let service = router.map_request(move |mut request: http::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request.map(Body::new)
        });
        let service = TowerToHyperService::new(service);
        let connection = builder.serve_connection(TokioIo::new(socket), service);
        tell_of_end(watcher.watch(connection.into_owned()).await.err());
        drop(place);
    }
}

/// Gives the connection to a partition, or tells it that there is no room.
fn hand_over(partitions: Option<&Partitions>, newcomer: Box<Newcomer>) {
    let adopted = match partitions {
        Some(partitions) => partitions.adopt(newcomer),
        None => Err(newcomer),
    };
    if let Err(newcomer) = adopted
        && newcomer.tls.is_none()
    {
        // It fits into the socket's buffer; a client that is gone needs no reply.
        _ = io::Write::write(&mut &newcomer.socket, &newcomer.refusal);
    }
}

pub(super) fn tell_of_end(error: Option<impl fmt::Display>) {
    if let Some(error) = error {
        tracing::debug!(%error, "a connection ended early");
    }
}
