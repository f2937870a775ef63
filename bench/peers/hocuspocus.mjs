// Hocuspocus on 127.0.0.1 with its SQLite extension; everything else as it comes.
import { SQLite } from "@hocuspocus/extension-sqlite";
import { Server } from "@hocuspocus/server";

const { PORT, DATABASE, FLUSH_DELAY } = process.env;

await new Server({
  address: "127.0.0.1",
  port: Number(PORT),
  quiet: true,
  ...(Number(FLUSH_DELAY) ? { flushDelay: Number(FLUSH_DELAY) } : {}),
  extensions: [new SQLite({ database: DATABASE })],
}).listen();
