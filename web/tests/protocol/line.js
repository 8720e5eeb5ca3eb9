/** A line between client and server that can be cut, as networks do: without a word to either side. */
import { once } from "node:events";
import { connect, createServer } from "node:net";

/** @param {string} base the server's address */
export async function openLine(base) {
  const { protocol, hostname, port } = new URL(base);
  /** @type {Set<import("node:net").Socket>} */
  const sockets = new Set();
  /** @type {Set<[import("node:net").Socket, import("node:net").Socket]>} the server's end of each connection, and the client's */
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
    /** Ends what is open; new connections are let through. */
    cut,
    /** Ends what is open and refuses what comes, until `mend`. */
    down() {
      isDown = true;
      cut();
    },
    mend() {
      isDown = false;
    },
    /** What the server says lies unread, as with a client that has no time, until `release`. */
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
