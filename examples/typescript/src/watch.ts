// Follows a question: its answer, and again whenever a saved note changes it: npm run watch -- "why do cells age" [--answers=N]

import { question, run, search } from "./weft.js";

await run(async () => {
  const most = Number(process.argv.find((word) => word.startsWith("--answers="))?.split("=")[1] ?? Infinity);
  let n = 0;
  for await (const { answer, entered, left } of search.watchQuery({ search: { query: question(), limit: 5 } })) {
    n += 1;
    console.log(`generation ${answer?.generation}:`);
    for (const hit of answer?.hits ?? []) {
      console.log(`  ${n > 1 && entered.includes(hit.uri) ? "+" : " "} ${hit.title}`);
    }
    for (const uri of left) console.log(`  - ${uri}`);
    // The open stream would keep the process.
    if (n >= most) process.exit();
  }
});
