/** The command line of the examples. */

/** Returns the question on the command line. */
export function question(): string {
  const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
  if (words.length === 0) throw new Error('give a question: npm run ask -- "why do cells age"');
  return words.join(" ");
}

/** Returns the value of `--NAME=VALUE`. */
export function option(name: string): string | undefined {
  const start = `--${name}=`;
  return process.argv.find((word) => word.startsWith(start))?.slice(start.length);
}

/** Runs a program, and prints the message of its error if it fails. */
export async function run(program: () => Promise<void>): Promise<void> {
  try {
    await program();
  } catch (thrown) {
    console.error(thrown instanceof Error ? thrown.message : thrown);
    process.exitCode = 1;
  }
}
