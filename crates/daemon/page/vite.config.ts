import { defineConfig } from "vite";

// The daemon embeds the built files under these names (src/web/explorer_page.rs), so they contain no hashes;
// its responses carry ETags, by which browsers validate their cache.
export default defineConfig({
  build: {
    outDir: "built",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    rollupOptions: {
      output: {
        entryFileNames: "page.js",
        chunkFileNames: "[name].js",
        assetFileNames: (asset) => (asset.names.some((name) => name.endsWith(".css")) ? "page.css" : "[name][extname]"),
      },
    },
  },
  oxc: { jsx: { importSource: "preact" } },
  // During development, requests are forwarded to a running daemon.
  server: { proxy: { "/noteweft.v1": { target: "http://127.0.0.1:9338", headers: { origin: "http://127.0.0.1:9338" }, changeOrigin: true } } },
});
