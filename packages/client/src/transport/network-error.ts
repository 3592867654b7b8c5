/** TLS certificate error codes of Node, Deno and Bun. */
const certificateErrors = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|UnknownIssuer/

/** Why `fetch` failed: a code such as ECONNREFUSED if there is one. */
export function networkErrorReason(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(inner instanceof Error)) return 'network error'
  const reason = 'code' in inner && typeof inner.code === 'string' ? inner.code : inner.message
  return certificateErrors.test(reason)
    ? `${reason}: the certificate is not trusted; in Node, NODE_EXTRA_CA_CERTS names a file of additional authorities`
    : reason || 'network error'
}
