/** Pages of lists. */

import type { CallOptions } from "@connectrpc/connect";

/** A method whose responses are pages. */
type Paged<Request, Page> = (request: Request, options?: CallOptions) => Promise<Page>;

/** Tokens of pages, as requests and responses name them. */
type PageRequest = { pageToken?: string } | { resumeToken?: string };
type PageResponse = { nextPageToken: string } | { resumeToken?: string | undefined };

/**
 * Yields all pages of a response; requests each when it is needed. A deadline in `options` is that of one page.
 *
 *     for await (const page of pages(notes.listNotes, { pageSize: 50 })) console.log(page.notes.length);
 */
export async function* pages<Request extends PageRequest, Page extends PageResponse>(
  call: Paged<Request, Page>,
  request: Request,
  options?: CallOptions,
): AsyncGenerator<Page, void, undefined> {
  for (let following = request; ; ) {
    const page = await call(following, options);
    yield page;
    const token = "nextPageToken" in page ? page.nextPageToken : page.resumeToken;
    if (!token) return;
    following = { ...request, ..."nextPageToken" in page ? { pageToken: token } : { resumeToken: token } };
  }
}
