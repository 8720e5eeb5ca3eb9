/** A line between client and server that can be cut, as networks do: without a word to either side. */
import { once } from "node:events";
import { connect, createServer } from "node:net";

/** @param {string} base the server's address */
export async function openLine(base) {
  const { protocol, hostname, port } = new URL(base);
  /** @type {Set<import("node:net").Socket>} */
  const sockets = new Set();
  let isDown = false;
  const server = createServer((near) => {
    if (isDown) return near.destroy();
    const far = connect(Number(port), hostname);
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
    close() {
      cut();
      server.close();
    },
  };
}
