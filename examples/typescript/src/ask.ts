// Searches for a question and builds a context for it: npm run ask -- "why do cells age"

import { Rendering } from "./contract/noteweft/v1/common_pb.js";
import { context, question, run, search } from "./weft.js";

await run(async () => {
  const query = question();
  const found = await search.search({ query, limit: 5 }, { timeoutMs: 10_000 });
  for (const hit of found.hits) {
    console.log(`${hit.score.toFixed(2)}  ${hit.title}  (${hit.uri})`);
    const passage = hit.snippets[0]?.text.split(/\s+/).join(" ");
    if (passage) console.log(`      ${passage}`);
  }

  const packed = await context.assemble({ query, budget: 1000n, rendering: Rendering.MARKDOWN }, { timeoutMs: 10_000 });
  console.log(`\n${packed.used} of ${packed.budget} tokens, ${packed.items.length} notes:\n`);
  console.log(packed.rendered);
});
