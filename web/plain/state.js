/**
 * The state of a client's channels: the reference client for Lineside's messages.
 *
 * Pass every message of a connection to `Store.apply`, in the order of arrival. A message is
 * `{channel, epoch, offset?, data}`; `data` is either a part of the channel's full state or a
 * list of changes, and a change upserts or removes one record. The rules are:
 *
 * 1. A state arrives in parts. Part 1 starts an empty table, each part fills it, and only the last
 *    part replaces the visible records: a reader never sees half a state.
 * 2. Changes apply to a full state, in rising offsets. A change at or below the current offset is
 *    a repetition after a resume and is ignored.
 * 3. An epoch identifies one run of a sequence. Changes of another epoch, or changes without a
 *    state, cannot be applied: the channel is `lost` and must be requested without a position.
 * 4. `gap` means that changes were missed. It always comes with a full state, so no repair is
 *    needed; it is passed on for information.
 *
 * This module has no dependencies and touches neither the network nor the page.
 *
 * @typedef {{op: "upsert"|"remove", feed: string, kind: string, id: string, record?: any, why?: string}} Change
 * @typedef {{at: number, state?: {part: number, parts: number}, gap?: boolean, changes: Change[]}} Data
 * @typedef {{channel: string, epoch: string, offset?: number, data: Data}} Message
 * @typedef {{feed: string, kind: string, id: string, record: any, at: number}} StoredRecord
 * @typedef {object} Applied
 * @property {string} channel
 * @property {boolean} shown     the visible records may have changed
 * @property {boolean} replaced  a full state replaced the records
 * @property {boolean} gap       changes were missed before this state
 * @property {boolean} lost      subscribe to the channel again, without position
 * @property {StoredRecord[]} upserts    records that are new or changed
 * @property {(StoredRecord & {why?: string})[]} removes  records that are gone
 */

/** Returns the identity of a record inside a channel. @param {{feed: string, kind: string, id: string}} of */
export const keyOf = ({ feed, kind, id }) => `${feed}\n${kind}\n${id}`;

/** The state of one channel. */
export class ChannelState {
  /** @param {string} channel */
  constructor(channel) {
    this.channel = channel;
    /** @type {string|null} */
    this.epoch = null;
    /** The offset of the last applied message; 0 before the first. */
    this.offset = 0;
    /** True if a full state of this epoch has arrived and changes can be applied to it. */
    this.hasState = false;
    /** @type {Map<string, StoredRecord>} */
    this.records = new Map();
    /** @type {{epoch: string, next: number, gap: boolean, records: Map<string, StoredRecord>}|null} */
    this.incoming = null;
  }

  /** @param {Message} message @returns {Applied} */
  apply(message) {
    return message.data.state ? this.#applyState(message) : this.#applyChanges(message);
  }

  /** @param {Message} message @returns {Applied} */
  #applyState({ epoch, offset, data }) {
    const { part, parts } = /** @type {{part: number, parts: number}} */ (data.state);
    if (part === 1) this.incoming = { epoch, next: 1, gap: false, records: new Map() };
    const incoming = this.incoming;
    if (!incoming || incoming.next !== part || incoming.epoch !== epoch) return this.#invalidate();
    incoming.next += 1;
    incoming.gap ||= data.gap === true;
    for (const change of data.changes) put(incoming.records, change, data.at);
    if (part < parts) return nothing(this.channel);

    const before = this.records;
    this.records = incoming.records;
    this.incoming = null;
    this.epoch = epoch;
    this.offset = offset ?? 0;
    this.hasState = true;
    const removes = [...before].filter(([key]) => !this.records.has(key)).map(([, held]) => held);
    const upserts = [...this.records.values()];
    return { ...nothing(this.channel), shown: true, replaced: true, gap: incoming.gap, upserts, removes };
  }

  /** @param {Message} message @returns {Applied} */
  #applyChanges({ epoch, offset, data }) {
    if (!this.hasState || this.incoming || epoch !== this.epoch) return this.#invalidate();
    if (offset !== undefined && offset <= this.offset) return nothing(this.channel);
    const applied = { ...nothing(this.channel), shown: data.changes.length > 0 };
    for (const change of data.changes) {
      const held = put(this.records, change, data.at);
      if (held && change.op === "remove") applied.removes.push({ ...held, why: change.why });
      else if (held) applied.upserts.push(held);
    }
    if (offset !== undefined) this.offset = offset;
    return applied;
  }

  /** Keeps the records visible, but applies no changes until a new state arrives. */
  #invalidate() {
    this.incoming = null;
    this.hasState = false;
    return { ...nothing(this.channel), lost: true };
  }
}

/**
 * Applies one change to a table.
 * @param {Map<string, StoredRecord>} records @param {Change} change @param {number} at
 * @returns {StoredRecord|undefined} the stored record, or the removed one
 */
function put(records, change, at) {
  const key = keyOf(change);
  if (change.op === "remove") {
    const held = records.get(key);
    records.delete(key);
    return held;
  }
  const held = { feed: change.feed, kind: change.kind, id: change.id, record: change.record, at };
  records.set(key, held);
  return held;
}

/** @param {string} channel @returns {Applied} */
function nothing(channel) {
  return { channel, shown: false, replaced: false, gap: false, lost: false, upserts: [], removes: [] };
}

/** All channels of one client. */
export class Store {
  constructor() {
    /** @type {Map<string, ChannelState>} */
    this.channels = new Map();
  }

  /** @param {Message} message @returns {Applied} */
  apply(message) {
    let channelState = this.channels.get(message.channel);
    if (!channelState) {
      channelState = new ChannelState(message.channel);
      this.channels.set(message.channel, channelState);
    }
    return channelState.apply(message);
  }

  /**
   * Returns the position from which another connection can resume a channel, and discards an incomplete state.
   * @param {string} channel @returns {{epoch: string, offset: number}|null}
   */
  position(channel) {
    const channelState = this.channels.get(channel);
    if (!channelState?.hasState || channelState.epoch === null) return null;
    channelState.incoming = null;
    return { epoch: channelState.epoch, offset: channelState.offset };
  }

  /** Keeps a channel's records visible, but applies no more changes to them. @param {string} channel */
  invalidate(channel) {
    const channelState = this.channels.get(channel);
    if (channelState) channelState.hasState = false;
  }

  /**
   * Removes all channels but the wanted ones.
   * @param {Iterable<string>} wanted @returns {StoredRecord[]} the records of the removed channels
   */
  retainChannels(wanted) {
    const keep = new Set(wanted);
    const dropped = [];
    for (const [channel, channelState] of this.channels) {
      if (keep.has(channel)) continue;
      dropped.push(...channelState.records.values());
      this.channels.delete(channel);
    }
    return dropped;
  }

  /** Returns the newest version of a record in any channel. @param {{feed: string, kind: string, id: string}} of */
  find(of) {
    const key = keyOf(of);
    let newest;
    for (const { records } of this.channels.values()) {
      const held = records.get(key);
      if (held && (!newest || held.at > newest.at)) newest = held;
    }
    return newest;
  }

  /** Returns the newest version of every record of one kind. @param {string} kind @returns {StoredRecord[]} */
  list(kind) {
    /** @type {Map<string, StoredRecord>} */
    const newest = new Map();
    for (const { records } of this.channels.values()) {
      for (const [key, held] of records) {
        if (held.kind !== kind) continue;
        const other = newest.get(key);
        if (!other || held.at > other.at) newest.set(key, held);
      }
    }
    return [...newest.values()];
  }
}
