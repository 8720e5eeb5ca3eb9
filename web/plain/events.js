/**
 * The channels of a page, over one connection that reconnects and resumes.
 *
 * The connection is a WebSocket (socket.js), or server-sent events (stream.js) where a proxy blocks
 * WebSockets. The state of the channels (state.js) outlives both, so the next connection resumes
 * from it.
 */
import { Socket } from "./socket.js";
import { Store } from "./state.js";
import { Stream } from "./stream.js";

/** Maximum number of channels in one `/events` request. */
export const CHANNELS_MAX = 64;
/** First and longest pause before a retry, in milliseconds; jitter shortens each by up to half. */
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 30_000;
/** Interval at which the connection is checked for silence, in milliseconds. */
const WATCH_MS = 10_000;
/**
 * Consecutive failures to open a WebSocket before server-sent events are tried. The limit is higher once a
 * WebSocket has worked on this page: then the likely cause is the server and not a proxy.
 */
const REFUSALS = 1;
const REFUSALS_WHERE_IT_WORKED = 4;

/**
 * @typedef {"idle"|"connecting"|"live"|"waiting"|"ended"|"refused"} Status
 * @typedef {object} Options
 * @property {(applied: import("./state.js").Applied, message: import("./state.js").Message) => void} onChange
 * @property {(status: Status, transport: string) => void} [onStatus]
 * @property {typeof EventSource} [source]  the EventSource class; tests pass their own
 * @property {typeof WebSocket|null} [socket]  the WebSocket class; null disables WebSockets
 */

export class Events {
  /** @param {Options} options */
  constructor({ onChange, onStatus = () => {}, source = globalThis.EventSource, socket = globalThis.WebSocket }) {
    this.store = new Store();
    /** @type {string[]} */
    this.channels = [];
    this.failures = 0;
    /** Consecutive failures to open a WebSocket. */
    this.refusals = 0;
    this.socketWorked = false;
    /** True once the server has forbidden reconnecting or refused access. */
    this.isOver = false;
    /** @type {any} */
    this.retry = null;
    this.onChange = onChange;
    this.onStatus = onStatus;
    /** @type {Stream} */
    this.stream = new Stream(this.store, source, this.#hooks(() => this.stream));
    /** @type {Socket|null} */
    this.socket = socket ? new Socket(this.store, socket, this.#hooks(() => this.socket)) : null;
    /** @type {Socket|Stream|null} the open connection, or the one being opened */
    this.link = null;
    this.wake = () => this.#wake();
    this.online = () => this.#online();
    globalThis.addEventListener?.("online", this.online);
    globalThis.document?.addEventListener("visibilitychange", this.wake);
    this.watch = setInterval(this.wake, WATCH_MS);
  }

  /**
   * Follows these channels, and only these. The state of channels in both the old and the new set is preserved.
   * @param {string[]} channels  at most CHANNELS_MAX; further ones are ignored
   * @returns {import("./state.js").StoredRecord[]} the records of the dropped channels
   */
  follow(channels) {
    const wanted = [...new Set(channels)].slice(0, CHANNELS_MAX);
    const same = wanted.length === this.channels.length && wanted.every((name) => this.channels.includes(name));
    if (same) {
      if (wanted.length === 0) this.#idle();
      return [];
    }
    this.channels = wanted;
    const dropped = this.store.retainChannels(wanted);
    if (wanted.length === 0) this.#idle();
    else if (this.link) this.link.follow(wanted);
    else this.#open();
    return dropped;
  }

  close() {
    clearInterval(this.watch);
    globalThis.removeEventListener?.("online", this.online);
    globalThis.document?.removeEventListener("visibilitychange", this.wake);
    this.#drop();
  }

  /** Closes the connection, because there are no channels to follow. */
  #idle() {
    this.#drop();
    this.failures = 0;
    if (!this.isOver) this.#setStatus("idle");
  }

  #drop() {
    clearTimeout(this.retry);
    this.retry = null;
    this.link?.close();
    this.link = null;
  }

  /** @param {() => Socket|Stream|null} link @returns {import("./socket.js").Hooks} */
  #hooks(link) {
    return {
      opened: () => this.link === link() && this.#opened(),
      received: (message) => this.link === link() && this.#received(message),
      waiting: () => this.link === link() && this.#setStatus("waiting"),
      ended: (end) => this.link === link() && this.#ended(end),
      // A null link means that a retry is pending.
      refused: () => (this.link ?? link()) === link() && this.#refused(),
    };
  }

  #open() {
    this.#drop();
    if (this.channels.length === 0 || this.isOver) return;
    const refusalsMax = this.socketWorked ? REFUSALS_WHERE_IT_WORKED : REFUSALS;
    const link = this.socket && this.refusals < refusalsMax ? this.socket : this.stream;
    this.link = link;
    if (this.failures === 0) this.#setStatus("connecting");
    link.open(this.channels);
  }

  /** @param {Status} status */
  #setStatus(status) {
    this.onStatus(status, this.link?.name ?? "");
  }

  #opened() {
    this.failures = 0;
    if (this.link === this.socket) {
      this.refusals = 0;
      this.socketWorked = true;
      this.stream.forget();
    }
    this.#setStatus("live");
  }

  /** @param {import("./state.js").Message} message */
  #received(message) {
    const applied = this.store.apply(message);
    if (applied.lost) this.link?.restart(message.channel);
    this.onChange(applied, message);
  }

  /** @param {{wasOpen: boolean, isFinal: boolean}} end */
  #ended({ wasOpen, isFinal }) {
    const wasSocket = this.link === this.socket;
    this.#setStatus(isFinal ? "ended" : "waiting");
    this.link = null;
    this.isOver = isFinal;
    if (isFinal) return;
    if (!wasOpen) this.refusals = wasSocket ? this.refusals + 1 : 0;
    // A proxy may have blocked the first WebSocket: then server-sent events are tried at once.
    const isFirst = wasSocket && !wasOpen && !this.socketWorked && this.failures === 0;
    this.#retryAfter(isFirst ? 0 : Math.min(RETRY_MS * 2 ** this.failures, RETRY_MS_MAX));
    this.failures += 1;
  }

  /** Ends without a retry, which would be refused again. */
  #refused() {
    this.isOver = true;
    this.#setStatus("refused");
    this.#drop();
  }

  /** @param {number} pause */
  #retryAfter(pause) {
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.#open(), pause * (0.5 + Math.random() / 2));
  }

  /** Reconnects after sleep or a change of network, when a dead connection can look open. Resuming is cheap. */
  #wake() {
    if (globalThis.document?.hidden || !this.link?.isSilent()) return;
    this.#open();
  }

  /** Retries soon after the network is back, with jitter so that not all clients come at once. */
  #online() {
    if (this.retry === null || this.link) return;
    this.#retryAfter(RETRY_MS);
  }
}
