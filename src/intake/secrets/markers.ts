/** Words that stand only in private keys, whatever wraps them. */
const marks: readonly RegExp[] = [
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
]

const jwkMember = /(?:^|[\s{,;"'])kty["']?\s*[:=]/m
const secretMember =
  /(?:^|[\s{,;"'])(?:d|p|q|dp|dq|qi|k|oth|priv)["']?\s*[:=]\s*["'[]?[A-Za-z0-9_+/{-]{6}/m

/** Members of a JWK that only its holder may have (RFC 7518 section 6, RFC 8037, RFC 9964). */
const secretMembers: ReadonlySet<string> = new Set([
  'd',
  'k',
  'p',
  'q',
  'dp',
  'dq',
  'qi',
  'oth',
  'priv',
])

const MAX_NODES = 4096

/** Whether a text says of itself that it holds a private key, JWK that does not parse included. */
export function hasSecretMark(text: string): boolean {
  if (marks.some((mark) => mark.test(text))) return true
  return jwkMember.test(text) && secretMember.test(text)
}

/** Quick look at a text that is too long for the whole examination. */
export function hasObviousSecret(text: string): boolean {
  return marks.slice(0, 3).some((mark) => mark.test(text))
}

export interface JsonContent {
  /** Objects with a secret member. */
  secrets: Record<string, unknown>[]
  /** Texts inside, which may be keys themselves. */
  texts: string[]
}

/** Looks into a JSON text, at every depth; undefined where the text is no JSON. */
export function readJson(text: string): JsonContent | undefined {
  const trimmed = text.replace(/^\uFEFF/, '').trim()
  const start = trimmed.search(/[{["]/)
  if (start < 0) return undefined
  const whole = parse(trimmed)
  const inner = whole ?? parse(trimmed.slice(trimmed.indexOf('{'), trimmed.lastIndexOf('}') + 1))
  if (inner === undefined) return undefined
  return collect(inner.value)
}

function parse(text: string): { value: unknown } | undefined {
  if (!/^[{["]/.test(text)) return undefined
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

function collect(root: unknown): JsonContent {
  const content: JsonContent = { secrets: [], texts: [] }
  const queue: unknown[] = [root]
  for (let index = 0; index < queue.length && index < MAX_NODES; index += 1) {
    const value = queue[index]
    if (typeof value === 'string') content.texts.push(value)
    if (typeof value !== 'object' || value === null) continue
    const members = Object.entries(value)
    if (!Array.isArray(value) && members.some(([name]) => secretMembers.has(name))) {
      content.secrets.push(Object.fromEntries(members))
    }
    for (const [, member] of members) queue.push(member)
  }
  return content
}
