// Follows a query: prints the result, and again whenever a saved note changes it: npm run watch -- "why do cells age" [--answers=N]

import { question, run, search } from "./weft.js";

await run(async () => {
  const maxAnswers = Number(process.argv.find((word) => word.startsWith("--answers="))?.split("=")[1] ?? Infinity);
  let n = 0;
  for await (const { answer, added, removed } of search.watchQuery({ search: { query: question(), limit: 5 } })) {
    n += 1;
    console.log(`generation ${answer?.generation}:`);
    for (const hit of answer?.hits ?? []) {
      console.log(`  ${n > 1 && added.includes(hit.uri) ? "+" : " "} ${hit.title}`);
    }
    for (const uri of removed) console.log(`  - ${uri}`);
    // The open stream would keep the process alive.
    if (n >= maxAnswers) process.exit();
  }
});
