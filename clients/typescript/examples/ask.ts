/** Searches for a question and builds a context for it: npm run ask -- "why do cells age" */

import { connect } from "@noteweft/client";
import { Rendering } from "@noteweft/client/v1";
import { question, run } from "./arguments.js";

await run(async () => {
  const query = question();
  const notes = connect();
  const { hits } = await notes.search({ query, limit: 5, snippets: 1 });
  for (const hit of hits) {
    console.log(`${hit.score.toFixed(2)}  ${hit.title}  (${hit.uri})`);
    for (const { text } of hit.snippets) console.log(`      ${text.split(/\s+/).join(" ")}`);
  }

  const packed = await notes.assemble({ query, budget: 1000n, rendering: Rendering.MARKDOWN });
  console.log(`\n${packed.used} of ${packed.budget} tokens, ${packed.items.length} notes:\n`);
  console.log(packed.rendered);
  notes.close();
});
