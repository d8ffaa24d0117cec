// The official TypeScript SDK of MCP: node mcp_clients.mjs HOST:PORT WEFT

import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [address, weft] = process.argv.slice(2);

async function check(name, transport) {
  const client = new Client({ name: "ci", version: "1" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  for (const tool of tools) assert.equal(tool.annotations.readOnlyHint, true, tool.name);
  // An answer to a request for progress is a stream of events; no call here takes the second until the first event.
  const question = { name: "search", arguments: { query: "leap second", limit: 3 } };
  const found = await client.callTool(question, undefined, { onprogress: () => {} });
  assert.match(found.content[0].text, /Leap second/);
  assert.ok(found.structuredContent.generation > 0);
  const { resources } = await client.listResources();
  const leap = resources.find((resource) => resource.title === "Leap second");
  const { contents } = await client.readResource({ uri: leap.uri });
  assert.match(contents[0].text, /Leap second/);
  const { resourceTemplates } = await client.listResourceTemplates();
  const { prompts } = await client.listPrompts();
  const prompt = await client.getPrompt({ name: "around_note", arguments: { note: "Leap second" } });
  assert.match(prompt.messages[0].content.text, /Leap second/);
  await assert.rejects(client.readResource({ uri: "noteweft://note/nowhere-at-all" }));
  await client.close();
  console.log(`${name}: ${tools.length} tools, ${resources.length} resources, ${resourceTemplates.length} templates, ${prompts.length} prompts`);
}

await check("typescript sdk over http", new StreamableHTTPClientTransport(new URL(`http://${address}/mcp`)));
await check("typescript sdk over stdio", new StdioClientTransport({ command: weft, args: ["mcp", "--addr", address] }));
