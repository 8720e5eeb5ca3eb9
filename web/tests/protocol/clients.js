/**
 * Clients that follow channels, one per transport, with one interface, so that the scenarios run over
 * each. The two WebSocket clients are the stock Centrifuge client from npm.
 */
import { Centrifuge as JsonClient } from "centrifuge";
import { Centrifuge as ProtobufClient } from "centrifuge/build/protobuf";
import WebSocket from "ws";
import { Store } from "../../plain/state.js";

/**
 * Reconnect delays and timeout of clients, in milliseconds. Delays are short because the tests wait for them. The timeout is
 * long because all clients share one thread with the tests, on a machine that may be busy.
 */
const TIMEOUTS_MS = { minReconnectDelay: 20, maxReconnectDelay: 300, timeout: 20_000 };

/**
 * @typedef {object} Follower
 * @property {Store} store  the state of its channels
 * @property {any[]} heard  all messages in order: `{channel, epoch, offset?, data}`
 * @property {{channel: string, resumed: boolean}[]} opened  all answered subscriptions; `resumed` if nothing was missed
 * @property {{channel?: string, code: string|number}[]} refused
 * @property {(string|number)[]} ends  codes or errors with which connections ended
 * @property {() => void} close
 * @property {any} [client]  the stock client
 */

/** @returns {Follower} */
const newFollower = () => ({ store: new Store(), heard: [], opened: [], refused: [], ends: [], close() {} });

/** @param {Follower} follower @param {any} message */
function hear(follower, message) {
  follower.heard.push(message);
  if (message.data?.changes) follower.store.apply(message);
}

/** Creates the stock client of a server. @param {typeof JsonClient} Client @param {string} base @param {any} [options] */
export function connect(Client, base, options = {}) {
  const client = new Client(`${base.replace("http", "ws")}/connection/websocket`, { websocket: WebSocket, ...TIMEOUTS_MS, ...options });
  // Without a listener the client throws on errors; tests check for errors where they expect them.
  client.on("error", () => {});
  return client;
}

/** Decodes `data`, which in protobuf is bytes that contain JSON. @param {any} data */
export const read = (data) => (data instanceof Uint8Array ? JSON.parse(Buffer.from(data).toString()) : data);
/** Encodes `data` for a client's format. @param {typeof JsonClient} Client @param {any} data */
export const written = (Client, data) => (Client === ProtobufClient ? Buffer.from(JSON.stringify(data)) : data);

/** @param {typeof JsonClient} Client */
function overWebSocket(Client) {
  return (/** @type {string} */ base, /** @type {string[]} */ channels, /** @type {any} */ { since, ...options } = {}) => {
    const client = connect(Client, base, options);
    const follower = { ...newFollower(), client, close: () => client.disconnect() };
    client.on("connecting", ({ code }) => code > 0 && follower.ends.push(code));
    client.on("disconnected", ({ code }) => code > 0 && follower.ends.push(code));
    for (const channel of channels) {
      const subscription = client.newSubscription(channel, since ? { since } : {});
      let epoch = "";
      subscription.on("subscribed", ({ recovered, streamPosition }) => {
        epoch = streamPosition?.epoch ?? "";
        follower.opened.push({ channel, resumed: recovered });
      });
      subscription.on("publication", ({ data, offset }) => hear(follower, { channel, epoch, offset: offset || undefined, data: read(data) }));
      subscription.on("error", ({ error }) => follower.refused.push({ channel, code: error.code }));
      subscription.on("unsubscribed", ({ code }) => code > 0 && follower.refused.push({ channel, code }));
      subscription.subscribe();
    }
    client.connect();
    return follower;
  };
}

/** Follows channels over server-sent events, as the documentation describes. @param {string} base @param {string[]} channels @param {any} [options] @returns {Follower} */
function overEvents(base, channels, { since, network = "city", token } = {}) {
  const follower = newFollower();
  const abort = new AbortController();
  let lastId = since ? `${network}@${since.epoch}:${since.offset}` : "";
  follower.close = () => abort.abort();
  const once = async () => {
    const query = new URLSearchParams(channels.map((channel) => ["channel", channel]));
    const headers = { ...(lastId && { "last-event-id": lastId }), ...(token && { authorization: `Bearer ${token}` }) };
    const reply = await fetch(`${base}/events?${query}`, { headers, signal: abort.signal });
    if (!reply.ok) {
      follower.refused.push({ code: (await reply.json()).code });
      return reply.status >= 500;
    }
    const resumed = lastId !== "";
    const seen = new Set();
    let rest = "";
    for await (const text of reply.body.pipeThrough(new TextDecoderStream())) {
      const events = (rest + text).split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const fields = Object.fromEntries(event.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
        if (fields.id) lastId = fields.id;
        if (!fields.data) continue;
        const message = JSON.parse(fields.data);
        if (!seen.has(message.channel)) follower.opened.push({ channel: message.channel, resumed: resumed && !message.data.state });
        seen.add(message.channel);
        hear(follower, message);
      }
    }
    follower.ends.push("ended");
    return true;
  };
  const again = async () => {
    for (;;) {
      const comesBack = await once().catch((error) => {
        if (abort.signal.aborted) return false;
        follower.ends.push(error.cause?.code ?? error.name);
        return true;
      });
      if (!comesBack) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  again();
  return follower;
}

/** All transports: name, function that follows channels, and error codes of refusals. */
export const TRANSPORTS = [
  { name: "websocket, json", follow: overWebSocket(JsonClient), unknownFeed: 102, badChannel: 107, isWebSocket: true, Client: JsonClient },
  { name: "websocket, protobuf", follow: overWebSocket(/** @type {any} */ (ProtobufClient)), unknownFeed: 102, badChannel: 107, isWebSocket: true, Client: ProtobufClient },
  { name: "server-sent events", follow: overEvents, unknownFeed: "unknown_feed", badChannel: "bad_channel", isWebSocket: false, Client: null },
];

export const CLIENTS = TRANSPORTS.filter(({ isWebSocket }) => isWebSocket);
