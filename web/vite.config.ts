import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const server = `127.0.0.1:${process.env["CLEW_PORT"] ?? "8484"}`;

/** Writes the offline worker beside the page, with the list of the files that it keeps. Its bytes change whenever they do. */
function offlineWorker(): Plugin {
  return {
    name: "clew-offline-worker",
    apply: "build",
    generateBundle(_, bundle) {
      const files = [
        "/",
        "/icon.svg",
        ...Object.keys(bundle)
          .filter((name) => name.startsWith("assets/"))
          .map((name) => `/${name}`)
          .sort(),
      ];
      const page = readFileSync("index.html", "utf8");
      const version = createHash("sha256")
        .update(JSON.stringify([files, page]))
        .digest("hex")
        .slice(0, 16);
      const source = readFileSync("src/offline_worker.js", "utf8")
        .replace('"__FILES__"', JSON.stringify(files))
        .replace("__VERSION__", version);
      this.emitFile({ type: "asset", fileName: "sw.js", source });
    },
  };
}

export default defineConfig({
  plugins: [offlineWorker()],
  build: { target: "es2022", modulePreload: { polyfill: false }, assetsInlineLimit: 0, reportCompressedSize: false },
  server: {
    host: "127.0.0.1",
    strictPort: true,
    cors: false,
    proxy: {
      "/api": { target: `http://${server}` },
      "/sync": { target: `ws://${server}`, ws: true },
    },
  },
  test: { include: ["tests/**/*.test.ts"] },
});
