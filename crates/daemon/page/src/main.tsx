import { render } from "preact";
import { App } from "./app";
import { begin } from "./index-status";
import "./style.css";
import { showHidden } from "./visible-names";

showHidden();
const root = document.getElementById("page");
if (root !== null) render(<App />, root);
begin();
