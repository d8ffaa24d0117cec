/** What both entry points export. */

export { Code } from "@connectrpc/connect";
export { type Connection, type Noteweft, overTransport } from "./calls.js";
export { NoteweftError } from "./errors.js";
export { pages } from "./pages.js";
