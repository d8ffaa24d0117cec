import { render } from "preact";
import { App } from "./app";
import { begin } from "./index-status";
import "./style.css";

const root = document.getElementById("page");
if (root !== null) render(<App />, root);
begin();
