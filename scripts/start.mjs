// npm start: installs if needed, builds if stale, then serves until Ctrl-C or SIGTERM.
import { join } from "node:path";
import { noArguments } from "./no-arguments.mjs";
import { runChild } from "./run-child.mjs";
import { root, setUp } from "./set-up.mjs";

noArguments("start", "Serves on http://127.0.0.1:8080, data in ./data. Settings: docs/settings.md.");
setUp();
process.exit(await runChild([join(root, "dist/main.js")]));
