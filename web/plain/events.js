/**
 * One `/events` connection that may change its channels, survives the network, and resumes.
 *
 * The browser's EventSource reconnects by itself after a lost connection and sends the last id it
 * saw; this adds what it leaves out: another try after an answer that was not a stream (503 while
 * a server restarts), a new set of channels without a moment of silence, a fresh start for a
 * channel that is lost, and a second look after the machine slept.
 */
import { Store } from "./state.js";

/** The most channels that one `/events` request may name. */
export const CHANNELS_MAX = 64;
/** First and longest pause before another try, in milliseconds; each is halved at random. */
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 30_000;
/** Silence after which the connection is opened again: seven heartbeats of the server. */
const SILENCE_MS_MAX = 180_000;

/** Channels that count by themselves, so that their position alone says what a client holds. */
const countsByItself = (/** @type {string} */ name) => /^(area|ops|app)\//.test(name);

/**
 * The part of a last event id that may be used with other channels than those it was given for.
 * A network's sequence is shared by its channels: its position says nothing about one that is new.
 * @param {string} lastId @param {string[]} channels
 */
export function reusablePositions(lastId, channels) {
  const wanted = new Set(channels);
  const sequenceOf = (/** @type {string} */ position) => position.slice(0, position.lastIndexOf("@"));
  return lastId
    .split(",")
    .filter((position) => countsByItself(position) && wanted.has(sequenceOf(position)))
    .join(",");
}

/** The address of a stream. @param {string[]} channels @param {string} lastId */
export function eventsUrl(channels, lastId = "") {
  const query = new URLSearchParams(channels.map((channel) => ["channel", channel]));
  if (lastId) query.set("last_event_id", lastId);
  return `/events?${query}`;
}

/**
 * @typedef {"connecting"|"live"|"waiting"} Status
 * @typedef {object} Options
 * @property {(applied: import("./state.js").Applied, message: import("./state.js").Message) => void} onChange
 * @property {(status: Status) => void} [onStatus]
 * @property {typeof EventSource} [source]  the EventSource class; tests hand in their own
 */

export class Events {
  /** @param {Options} options */
  constructor({ onChange, onStatus = () => {}, source = globalThis.EventSource }) {
    this.store = new Store();
    /** @type {string[]} */
    this.channels = [];
    this.lastId = "";
    this.failures = 0;
    this.heardAt = 0;
    /** @type {EventSource|null} */
    this.stream = null;
    /** @type {EventSource|null} */
    this.nextStream = null;
    this.retry = 0;
    this.onChange = onChange;
    this.onStatus = onStatus;
    this.Source = source;
    this.wake = () => this.#wake();
    globalThis.addEventListener?.("online", this.wake);
    globalThis.document?.addEventListener("visibilitychange", this.wake);
    this.watch = setInterval(this.wake, SILENCE_MS_MAX / 6);
  }

  /**
   * Follows these channels, and only these. What the old and the new set share stays held.
   * @param {string[]} channels  at most CHANNELS_MAX; what is beyond is left out
   * @returns {import("./state.js").Held[]} what was held only by channels that are gone
   */
  follow(channels) {
    const wanted = [...new Set(channels)].slice(0, CHANNELS_MAX);
    const same = wanted.length === this.channels.length && wanted.every((name) => this.channels.includes(name));
    if (same) return [];
    this.channels = wanted;
    this.lastId = reusablePositions(this.lastId, wanted);
    const dropped = this.store.keepOnly(wanted);
    this.#open();
    return dropped;
  }

  close() {
    clearInterval(this.watch);
    clearTimeout(this.retry);
    globalThis.removeEventListener?.("online", this.wake);
    globalThis.document?.removeEventListener("visibilitychange", this.wake);
    this.nextStream?.close();
    this.stream?.close();
    this.stream = this.nextStream = null;
  }

  /** Opens a stream for the present channels; the old one is read until the new one answers. */
  #open() {
    clearTimeout(this.retry);
    this.nextStream?.close();
    this.nextStream = null;
    if (this.channels.length === 0) {
      this.stream?.close();
      this.stream = null;
      return;
    }
    if (!this.stream) this.onStatus("connecting");
    const stream = new this.Source(eventsUrl(this.channels, this.lastId));
    this.nextStream = stream;
    stream.onopen = () => this.#opened(stream);
    stream.onmessage = (event) => this.#received(stream, event);
    stream.onerror = () => this.#failed(stream);
  }

  /** @param {EventSource} stream */
  #opened(stream) {
    if (this.nextStream === stream) {
      this.stream?.close();
      this.stream = stream;
      this.nextStream = null;
    }
    this.failures = 0;
    this.heardAt = Date.now();
    this.onStatus("live");
  }

  /** @param {EventSource} stream @param {MessageEvent} event */
  #received(stream, event) {
    if (stream !== this.stream) return;
    this.heardAt = Date.now();
    const message = JSON.parse(event.data);
    if (!this.channels.includes(message.channel)) return;
    this.lastId = event.lastEventId || this.lastId;
    const applied = this.store.apply(message);
    if (applied.lost) this.#startAgain();
    this.onChange(applied, message);
  }

  /** A channel cannot go on from what is held: ask for the state of all of them. */
  #startAgain() {
    this.lastId = "";
    this.stream?.close();
    this.stream = null;
    this.#later();
  }

  /** @param {EventSource} stream */
  #failed(stream) {
    if (stream !== this.stream && stream !== this.nextStream) return;
    this.onStatus("waiting");
    if (stream.readyState !== 2) return; // the browser tries again by itself
    if (stream === this.nextStream) this.nextStream = null;
    else this.stream = null;
    stream.close();
    this.#later();
  }

  #later() {
    const pause = Math.min(RETRY_MS * 2 ** this.failures, RETRY_MS_MAX);
    this.failures += 1;
    clearTimeout(this.retry);
    this.retry = /** @type {any} */ (setTimeout(() => this.#open(), pause * (0.5 + Math.random() / 2)));
  }

  /** After sleep or a change of network a dead connection can look alive: resuming is cheap. */
  #wake() {
    if (globalThis.document?.hidden || this.channels.length === 0 || this.nextStream) return;
    if (this.stream && Date.now() - this.heardAt > SILENCE_MS_MAX) this.#open();
  }
}
