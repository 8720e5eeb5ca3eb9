/**
 * Clients that follow channels, one per transport, all with the same face: the scenarios are the same
 * over each. The two over a WebSocket are the stock Centrifuge client, as anybody installs it.
 */
import { Centrifuge as JsonClient } from "centrifuge";
import { Centrifuge as ProtobufClient } from "centrifuge/build/protobuf";
import WebSocket from "ws";
import { Store } from "../../plain/state.js";

/**
 * How soon a client comes back, in milliseconds: the tests wait for it. And how long an answer may take: all clients share one
 * thread with the tests, on a machine that may be busy.
 */
const PATIENCE_MS = { minReconnectDelay: 20, maxReconnectDelay: 300, timeout: 20_000 };

/**
 * @typedef {object} Follower
 * @property {Store} store  what it holds
 * @property {any[]} heard  every message, in order: `{channel, epoch, offset?, data}`
 * @property {{channel: string, resumed: boolean}[]} opened  every time a channel was answered; `resumed` where nothing was missed
 * @property {{channel?: string, code: string|number}[]} refused
 * @property {(string|number)[]} ends  why connections ended
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

/** The stock client of a server. @param {typeof JsonClient} Client @param {string} base @param {any} [options] */
export function connect(Client, base, options = {}) {
  const client = new Client(`${base.replace("http", "ws")}/connection/websocket`, { websocket: WebSocket, ...PATIENCE_MS, ...options });
  // Without a listener it throws; what goes wrong is seen where it is looked for.
  client.on("error", () => {});
  return client;
}

/** In protobuf `data` is bytes, which hold JSON. @param {any} data */
export const read = (data) => (data instanceof Uint8Array ? JSON.parse(Buffer.from(data).toString()) : data);
/** What a client of this format sends as `data`. @param {typeof JsonClient} Client @param {any} data */
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

/** Server-sent events, read as the papers say. @param {string} base @param {string[]} channels @param {any} [options] @returns {Follower} */
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

/** Every transport: its name, how to follow channels over it, and what it calls a refusal. */
export const TRANSPORTS = [
  { name: "websocket, json", follow: overWebSocket(JsonClient), unknownFeed: 102, badChannel: 107, isWebSocket: true, Client: JsonClient },
  { name: "websocket, protobuf", follow: overWebSocket(/** @type {any} */ (ProtobufClient)), unknownFeed: 102, badChannel: 107, isWebSocket: true, Client: ProtobufClient },
  { name: "server-sent events", follow: overEvents, unknownFeed: "unknown_feed", badChannel: "bad_channel", isWebSocket: false, Client: null },
];

export const CLIENTS = TRANSPORTS.filter(({ isWebSocket }) => isWebSocket);
