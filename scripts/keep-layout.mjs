// node --import tsx scripts/keep-layout.mjs: stores a small data folder of the newest embedded layout as SQL in
// test/fixtures.
import { keepLayout } from "../test/support/kept-layout.ts";

process.stdout.write(`${await keepLayout()}\n`);
