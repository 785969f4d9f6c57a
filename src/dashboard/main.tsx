import { render } from "preact";
import { App } from "./page/app.js";
import { startController } from "./page/controller.js";

const root = document.getElementById("page") as HTMLElement;
startController((state, controller) => render(<App state={state} controller={controller} />, root));
