/**
 * The time that the data follow. It is the server's, which may run apart from the device's clock
 * and, in a demo with `--speed`, faster; so it is set by every message and goes on from there.
 */
export class DataClock {
  /** @param {number} at  milliseconds, as the page was made @param {() => number} [elapsed] */
  constructor(at, elapsed = () => performance.now()) {
    this.elapsed = elapsed;
    this.base = at;
    this.baseElapsed = elapsed();
  }

  /** A message was made at this time: it cannot be earlier than that. @param {number} at */
  observe(at) {
    if (at <= this.now()) return;
    this.base = at;
    this.baseElapsed = this.elapsed();
  }

  /** Milliseconds since 1970. */
  now() {
    return this.base + (this.elapsed() - this.baseElapsed);
  }
}
