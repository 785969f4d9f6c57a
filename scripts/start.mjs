// npm start: installs if needed, builds if stale, then serves until Ctrl-C or SIGTERM.
import { join } from "node:path";
import { runChild } from "./run-child.mjs";
import { root, setUp } from "./set-up.mjs";

if (process.argv.includes("--help")) {
  process.stdout.write(
    'npm start\n\nServes on http://127.0.0.1:8080, data in ./data. Settings: README.md, "Settings".\n',
  );
  process.exit(0);
}
if (process.argv.length > 2) {
  process.stderr.write('npm start takes no argument but --help; settings are variables: README.md, "Settings"\n');
  process.exit(2);
}
setUp();
process.exit(await runChild([join(root, "dist/main.js")]));
