// npm start: installs if needed, builds if stale, then serves until Ctrl-C or SIGTERM.
import { readFlags } from "./flags.mjs";
import { setUp } from "./set-up.mjs";

readFlags("start", { description: "Serves on http://127.0.0.1:8080, data in ./data. Settings: docs/settings.md." });
setUp();
await import("../dist/main.js");
