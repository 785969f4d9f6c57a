// npm run key | collect | ingest | export | receipt | backup | migrate: sets up, then runs the command.
import { join } from "node:path";
import { runChild } from "./run-child.mjs";
import { root, setUp } from "./set-up.mjs";

const [name, ...args] = process.argv.slice(2);
setUp();
process.exit(await runChild([join(root, `dist/commands/${name}.js`), ...args]));
