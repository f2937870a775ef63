import { defineConfig } from "vitest/config";

const server = `127.0.0.1:${process.env["CLEW_PORT"] ?? "8484"}`;

export default defineConfig({
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
