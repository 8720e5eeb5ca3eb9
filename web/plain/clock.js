/**
 * The server's time and the time of the data. The server's clock may differ from the device's, and in a
 * demo with `--speed` it runs faster. So every message sets this clock, which runs on from there. The
 * data of a recording lie behind the server's, and its clock runs at a rate of its own.
 */
export class DataClock {
  /**
   * @param {number} wall  the server's time when it made the page, in milliseconds
   * @param {number} [data]  the time of the data at that moment
   * @param {number|null} [rate]  the recorded seconds per second of a recording
   * @param {() => number} [elapsed]
   */
  constructor(wall, data = wall, rate = null, elapsed = () => performance.now()) {
    this.elapsed = elapsed;
    this.base = wall;
    this.baseElapsed = elapsed();
    this.behind = wall - data;
    this.isRecording = rate !== null;
    this.rate = rate ?? 1;
    this.dataElapsed = this.baseElapsed;
  }

  /** Sets the clock of the data. @param {number} data milliseconds since 1970 @param {number|null} rate */
  setData(data, rate) {
    this.behind = this.wall() - data;
    this.rate = rate ?? 1;
    this.dataElapsed = this.elapsed();
  }

  /** Returns the server's time, in milliseconds since 1970. */
  wall() {
    return this.base + (this.elapsed() - this.baseElapsed);
  }

  /** Moves the clock forward to the server's time in a message. @param {number} at */
  observe(at) {
    if (at <= this.wall()) return;
    this.base = at;
    this.baseElapsed = this.elapsed();
  }

  /** Returns the time of the data, in milliseconds since 1970. */
  now() {
    return this.wall() - this.behind + (this.rate - 1) * (this.elapsed() - this.dataElapsed);
  }

  /**
   * Sets the clock of a recording by the record of a feed of its network: it jumps over gaps and stops at the end. Does nothing
   * on a page without one network.
   * @param {{replay_time?: string|null, replay_ended?: boolean}} record
   */
  observeRecording({ replay_time: now, replay_ended: hasEnded }) {
    if (now && this.isRecording) this.setData(Date.parse(now), hasEnded ? 0 : this.rate);
  }
}
