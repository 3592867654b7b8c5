import type { CapturedResponse } from '../server/capture.ts'

/** Headers without which no cache could use a response. */
const leanHeaders = ['content-type', 'content-length', 'cache-control', 'etag']

/** The response with only those headers. */
export function lean({ status, headers, body }: CapturedResponse): CapturedResponse {
  const kept = headers.flatMap((name, index) =>
    index % 2 === 0 && leanHeaders.includes(name.toLowerCase())
      ? [name, headers[index + 1] ?? '']
      : [],
  )
  return { status, headers: kept, body }
}
