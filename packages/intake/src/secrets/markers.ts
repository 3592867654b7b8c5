/** Texts that occur only in private keys. */
const markers: readonly RegExp[] = [
  /(?:BEGIN|END)(?:[\w\s+]|-(?!-)){0,40}PRIVATE[\s_+-]*KEY/i,
  /PuTTY-User-Key-File-/i,
  /b3BlbnNzaC1rZXktdjE/,
  /openssh-key-v1/,
  /SSH PRIVATE KEY FILE FORMAT/i,
  /AGE-SECRET-KEY-1/i,
  /(?:minisign|rsign) encrypted secret key/i,
  /Private-key-format:/i,
  /Private-Key:\s*\(\d+ bit/i,
  /privateExponent:/i,
  /<(?:D|P|Q|DP|DQ|InverseQ)>\s*[A-Za-z0-9+/]{16}/,
  // The type of a key in a key set of Tink.
  /["'](?:ASYMMETRIC_PRIVATE|SYMMETRIC)["']/,
  // Members of a JWK, or of .NET's RSAParameters in JSON.
  /["'](?:d|p|q|dp|dq|qi|inverseq|k|priv)["']\s*:\s*["'][A-Za-z0-9+/_-]{22}/i,
]

/** Members that only private and symmetric JWKs have (RFC 7518 section 6, RFC 8037, RFC 9964). */
const secretMembers = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'priv']
const jwkMember = /(?:^|[\s{,;"'])kty["']?\s*[:=]/m
const secretMember = new RegExp(
  `(?:^|[\\s{,;"'])(?:${secretMembers.join('|')})["']?\\s*[:=]\\s*(?!null\\b)["'[]?[A-Za-z0-9_+/{-]{4}`,
  'm',
)

const maxNodes = 4096

/** Whether the text is marked as a private key, or holds parts of a JWK that does not parse. */
export function hasMarker(text: string): boolean {
  if (markers.some((marker) => marker.test(text))) return true
  return jwkMember.test(text) && secretMember.test(text)
}

/** Whether the text has one of the three most common markers, for texts too long to decode. */
export function hasPlainMarker(text: string): boolean {
  return markers.slice(0, 3).some((marker) => marker.test(text))
}

interface JsonContent {
  /** Objects with a secret member; tools print it as null for a public key. */
  secrets: Record<string, unknown>[]
  /** All strings, which may contain keys themselves. */
  texts: string[]
}

/** Reads JSON at every depth, also between other text. Undefined if the text contains none. */
export function readJson(text: string): JsonContent | undefined {
  const trimmed = text.replace(/^\uFEFF/, '').trim()
  if (!/[{["]/.test(trimmed)) return undefined
  const value =
    parseJson(trimmed) ??
    parseJson(trimmed.slice(trimmed.indexOf('{'), trimmed.lastIndexOf('}') + 1))
  return value === undefined ? undefined : collect(value)
}

/** The value of a JSON text; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Walks breadth-first over at most 4096 values. */
function collect(root: unknown): JsonContent {
  const content: JsonContent = { secrets: [], texts: [] }
  const queue: unknown[] = [root]
  for (let index = 0; index < queue.length && index < maxNodes; index += 1) {
    const value = queue[index]
    if (typeof value === 'string') content.texts.push(value)
    if (typeof value !== 'object' || value === null) continue
    const members = Object.entries(value)
    const isSecret = members.some(([name, held]) => secretMembers.includes(name) && held !== null)
    if (isSecret && !Array.isArray(value)) {
      content.secrets.push(Object.fromEntries(members))
    }
    for (const [, member] of members) queue.push(member)
  }
  return content
}
