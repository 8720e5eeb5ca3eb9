/**
 * The time that the data follow. It is the server's, which may run apart from the device's clock
 * and, in a demo with `--speed`, faster; so it is set by every message and goes on from there. Where
 * a recording is played, the data lie a fixed time behind it.
 */
export class DataClock {
  /**
   * @param {number} wall  the server's time as the page was made, in milliseconds
   * @param {number} [data]  the time of the data at that moment
   * @param {() => number} [elapsed]
   */
  constructor(wall, data = wall, elapsed = () => performance.now()) {
    this.behind = wall - data;
    this.elapsed = elapsed;
    this.base = wall;
    this.baseElapsed = elapsed();
  }

  /** The server's time, in milliseconds since 1970. */
  wall() {
    return this.base + (this.elapsed() - this.baseElapsed);
  }

  /** A message was made at this time of the server: it cannot be earlier than that. @param {number} at */
  observe(at) {
    if (at <= this.wall()) return;
    this.base = at;
    this.baseElapsed = this.elapsed();
  }

  /** The time of the data, in milliseconds since 1970. */
  now() {
    return this.wall() - this.behind;
  }
}
