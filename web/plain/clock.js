/**
 * The server's time and the time of the data. The server's clock may differ from the device's, and in a
 * demo with `--speed` it runs faster. So every message sets this clock, which runs on from there. The
 * data of a recording lie a fixed time behind the server's.
 */
export class DataClock {
  /**
   * @param {number} wall  the server's time when it made the page, in milliseconds
   * @param {number} [data]  the time of the data at that moment
   * @param {() => number} [elapsed]
   */
  constructor(wall, data = wall, elapsed = () => performance.now()) {
    this.behind = wall - data;
    this.elapsed = elapsed;
    this.base = wall;
    this.baseElapsed = elapsed();
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
    return this.wall() - this.behind;
  }
}
