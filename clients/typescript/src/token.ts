/** Sends the token with each call. */

import type { Interceptor } from "@connectrpc/connect";

/** Returns the interceptors that add `token` to each call; none without a token. */
export function withToken(token: string | undefined): Interceptor[] {
  if (!token) return [];
  return [
    (next) => (request) => {
      request.header.set("authorization", `Bearer ${token}`);
      return next(request);
    },
  ];
}
