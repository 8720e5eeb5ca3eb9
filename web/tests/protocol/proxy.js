/** A TCP proxy between client and server that can cut connections without notice, as networks do. */
import { once } from "node:events";
import { connect, createServer } from "node:net";

/** @param {string} base the server's address */
export async function openProxy(base) {
  const { protocol, hostname, port } = new URL(base);
  /** @type {Set<import("node:net").Socket>} */
  const sockets = new Set();
  /** @type {Set<[import("node:net").Socket, import("node:net").Socket]>} the server's and the client's socket of each connection */
  const pairs = new Set();
  let isDown = false;
  const server = createServer((near) => {
    if (isDown) return near.destroy();
    const far = connect(Number(port), hostname);
    /** @type {[import("node:net").Socket, import("node:net").Socket]} */
    const pair = [far, near];
    pairs.add(pair);
    far.on("close", () => pairs.delete(pair));
    for (const [socket, other] of [[near, far], [far, near]]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    base: `${protocol}//127.0.0.1:${/** @type {any} */ (server.address()).port}`,
    /** Resets all open connections; new ones are accepted. */
    cut,
    /** Resets all open connections and refuses new ones, until `mend`. */
    down() {
      isDown = true;
      cut();
    },
    mend() {
      isDown = false;
    },
    /** Stops reading from the server, like a slow client, until `release`. */
    hold() {
      for (const [far, near] of pairs) far.unpipe(near).pause();
    },
    release() {
      for (const [far, near] of pairs) far.pipe(near);
    },
    close() {
      cut();
      server.close();
    },
  };
}
