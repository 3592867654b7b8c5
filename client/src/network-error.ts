/** Error codes of TLS, as Node, Deno and Bun give them. */
const ofCertificates = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|UnknownIssuer/

/** What `fetch` knows of the cause: a code such as ECONNREFUSED where there is one. */
export function reasonOf(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(inner instanceof Error)) return 'network error'
  const reason = 'code' in inner && typeof inner.code === 'string' ? inner.code : inner.message
  return ofCertificates.test(reason)
    ? `${reason}: its certificate is not trusted here; in Node, NODE_EXTRA_CA_CERTS names a file of further authorities`
    : reason || 'network error'
}
