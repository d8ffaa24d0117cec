/** Follows a query: prints the hits, and again whenever a saved note changes them: npm run watch -- "why do cells age" [--answers=N] */

import { connect } from "@noteweft/client";
import { option, question, run } from "./arguments.js";

await run(async () => {
  const nAnswers = Number(option("answers") ?? Number.POSITIVE_INFINITY);
  const notes = connect();
  let n = 0;
  for await (const { answer, added, removed } of notes.watchQuery({ search: { query: question(), limit: 5 } })) {
    n += 1;
    console.log(`generation ${answer?.generation}:`);
    for (const hit of answer?.hits ?? []) {
      console.log(`  ${n > 1 && added.includes(hit.uri) ? "+" : " "} ${hit.title}`);
    }
    for (const uri of removed) console.log(`  - ${uri}`);
    if (n >= nAnswers) break;
  }
  notes.close();
});
