import { render } from "preact";
import { setDimensions } from "./dimensions.js";
import { App } from "./page/app.js";
import { startController } from "./page/controller.js";

const root = document.getElementById("page") as HTMLElement;
setDimensions(JSON.parse(root.dataset.dimensions ?? "[]"));
startController((state, controller) => render(<App state={state} controller={controller} />, root));
