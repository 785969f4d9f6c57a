// npm run build: builds dist whether it is stale or not.
import { build } from "./set-up.mjs";

build();
