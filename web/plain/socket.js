/**
 * One `/connection/websocket` connection: the part of the Centrifuge client protocol, in JSON, that
 * the pages need. It subscribes and unsubscribes without reconnecting, and resumes channels whose
 * position is known.
 *
 * @typedef {import("./state.js").Message} Message
 * @typedef {object} Hooks
 * @property {() => void} opened
 * @property {(message: Message) => void} received
 * @property {() => void} waiting  the connection was open and reconnects by itself
 * @property {() => void} refused  the server requires a token, and the pages have none
 * @property {(end: {wasOpen: boolean, isFinal: boolean}) => void} ended
 */

/** Timeout for opening a connection, in milliseconds. Some proxies accept a connection and never answer. */
const OPEN_MS_MAX = 10_000;
/** Time by which a ping may be late before the connection counts as lost, in milliseconds. */
const PING_LATE_MS = 10_000;
/** Pause before a temporarily refused channel is requested again, in milliseconds; jitter shortens it by up to half. */
const AGAIN_MS = 2_000;
/** Unsubscribe codes from this one on ask the client to subscribe again. */
const UNSUBSCRIBED_FOR_NOW = 2_500;
/** The channel's log no longer reaches back to the client's position. */
const INSUFFICIENT_STATE = 2_500;

/** Returns true for close codes after which a client must not reconnect by itself. @param {number} code */
const isFinal = (code) => (code >= 3_500 && code < 4_000) || (code >= 4_500 && code < 5_000);

/** Returns the address of the server's WebSocket. @param {{protocol: string, host: string}} page */
export const socketUrl = ({ protocol, host }) => `${protocol === "https:" ? "wss" : "ws"}://${host}/connection/websocket`;

export class Socket {
  /** @param {import("./state.js").Store} store @param {typeof WebSocket} Class @param {Hooks} hooks */
  constructor(store, Class, hooks) {
    this.name = "websocket";
    this.store = store;
    this.Class = Class;
    this.hooks = hooks;
    /** @type {WebSocket|null} */
    this.socket = null;
    this.channels = new Set(/** @type {string[]} */ ([]));
    this.isOpen = false;
    this.heardAt = 0;
    this.pingMs = 0;
    this.lastCommand = 0;
    /** @type {Map<number, string>} requested channels by the command's number */
    this.requests = new Map();
    /** @type {Map<string, string>} epochs of the subscribed channels */
    this.epochs = new Map();
    /** @type {any} the timer of `OPEN_MS_MAX` */
    this.timer = null;
    /** @type {Map<string, any>} retry timers by channel */
    this.retries = new Map();
  }

  /** @param {string[]} channels */
  open(channels) {
    this.close();
    this.channels = new Set(channels);
    const socket = new this.Class(socketUrl(globalThis.location));
    this.socket = socket;
    this.timer = setTimeout(() => this.#end(socket, 0), OPEN_MS_MAX);
    socket.onopen = () => this.#send([{ id: this.#number(), connect: { name: "lineside" } }, ...[...this.channels].map((channel) => this.#subscribe(channel))]);
    socket.onmessage = ({ data }) => socket === this.socket && this.#handleText(data);
    socket.onclose = ({ code }) => this.#end(socket, code);
  }

  /** @param {string[]} channels */
  follow(channels) {
    const before = this.channels;
    this.channels = new Set(channels);
    if (this.socket?.readyState !== 1) return; // `onopen` subscribes to them
    const gone = [...before].filter((channel) => !this.channels.has(channel));
    const fresh = channels.filter((channel) => !before.has(channel));
    this.#send([...gone.map((channel) => this.#unsubscribe(channel)), ...fresh.map((channel) => this.#subscribe(channel))]);
  }

  close() {
    const socket = this.socket;
    this.socket = null;
    this.isOpen = false;
    this.lastCommand = 0;
    this.requests.clear();
    this.epochs.clear();
    clearTimeout(this.timer);
    for (const timer of this.retries.values()) clearTimeout(timer);
    this.retries.clear();
    socket?.close();
  }

  /** Requests the full state of a channel that cannot continue from the known position. @param {string} channel */
  restart(channel) {
    this.#send([this.#unsubscribe(channel)]);
    this.#subscribeLater(channel);
  }

  isSilent() {
    return this.isOpen && this.pingMs > 0 && Date.now() - this.heardAt > this.pingMs + PING_LATE_MS;
  }

  #number() {
    this.lastCommand += 1;
    return this.lastCommand;
  }

  /** @param {any[]} commands */
  #send(commands) {
    if (commands.length > 0 && this.socket?.readyState === 1) this.socket.send(commands.map((command) => JSON.stringify(command)).join("\n"));
  }

  /** @param {string} channel */
  #subscribe(channel) {
    const id = this.#number();
    this.requests.set(id, channel);
    const held = this.store.position(channel);
    return { id, subscribe: held ? { channel, recover: true, ...held } : { channel } };
  }

  /** @param {string} channel */
  #unsubscribe(channel) {
    for (const [id, name] of this.requests) if (name === channel) this.requests.delete(id);
    this.epochs.delete(channel);
    clearTimeout(this.retries.get(channel));
    this.retries.delete(channel);
    return { id: this.#number(), unsubscribe: { channel } };
  }

  /** @param {string} channel */
  #subscribeLater(channel) {
    clearTimeout(this.retries.get(channel));
    const ask = () => {
      this.retries.delete(channel);
      if (this.channels.has(channel)) this.#send([this.#subscribe(channel)]);
    };
    this.retries.set(channel, setTimeout(ask, AGAIN_MS * (0.5 + Math.random() / 2)));
  }

  /** @param {string} text */
  #handleText(text) {
    this.heardAt = Date.now();
    const socket = this.socket;
    for (const line of text.split("\n")) {
      // A message may have closed this connection.
      if (!line || socket !== this.socket) continue;
      const { id, push, connect, subscribe, error } = JSON.parse(line);
      if (push) this.#pushed(push);
      else if (connect) this.#connected(connect);
      else if (subscribe) this.#subscribed(id, subscribe);
      else if (error) this.#refused(id, error);
      else if (id === undefined) this.socket?.send("{}"); // a ping
    }
  }

  /** @param {{ping?: number}} connect */
  #connected({ ping = 0 }) {
    clearTimeout(this.timer);
    this.isOpen = true;
    this.pingMs = ping * 1_000;
    this.hooks.opened();
  }

  /** @param {number} id @param {{epoch?: string, publications?: any[]}} result */
  #subscribed(id, { epoch = "", publications = [] }) {
    const channel = this.requests.get(id);
    this.requests.delete(id);
    if (channel === undefined) return; // unsubscribed in the meantime
    this.epochs.set(channel, epoch);
    for (const publication of publications) this.#published(channel, publication);
  }

  /** @param {number} id @param {{code: number, temporary?: boolean}} error */
  #refused(id, { temporary = false }) {
    const channel = this.requests.get(id);
    this.requests.delete(id);
    // After a permanent refusal the page continues with its other channels.
    if (channel !== undefined && temporary) this.#subscribeLater(channel);
    else if (channel === undefined && !this.isOpen && this.socket && temporary) this.#end(this.socket, 0);
    else if (channel === undefined && !this.isOpen && this.socket) this.hooks.refused();
  }

  /** @param {{channel: string, pub?: any, unsubscribe?: {code: number}}} push */
  #pushed({ channel, pub, unsubscribe }) {
    if (pub) this.#published(channel, pub);
    if (!unsubscribe) return;
    this.epochs.delete(channel);
    if (unsubscribe.code === INSUFFICIENT_STATE) this.store.invalidate(channel);
    if (unsubscribe.code >= UNSUBSCRIBED_FOR_NOW) this.#subscribeLater(channel);
  }

  /** @param {string} channel @param {{data: import("./state.js").Data, offset?: number}} publication */
  #published(channel, { data, offset }) {
    const epoch = this.epochs.get(channel);
    if (epoch !== undefined && this.channels.has(channel)) this.hooks.received({ channel, epoch, offset, data });
  }

  /** @param {WebSocket} socket @param {number} code */
  #end(socket, code) {
    if (socket !== this.socket) return;
    const wasOpen = this.isOpen;
    this.close();
    this.hooks.ended({ wasOpen, isFinal: isFinal(code) });
  }
}
