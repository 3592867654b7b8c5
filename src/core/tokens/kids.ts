import { parseId } from '../ids.ts'
import { kidOf } from '../keys/kids.ts'
import type { KeyRecord } from '../records.ts'
import type { DecodedToken } from './decode.ts'
import { type Finding, failed, passed, quote } from './findings.ts'
import { verifies } from './signatures.ts'

/** The key that verifiers select for the `kid`, which they compare exactly. */
export function findKey(keys: readonly KeyRecord[], kid: unknown): KeyRecord | undefined {
  return keys.find((key) => kidOf(key) === kid)
}

/** Whether the header has a `kid`; if not, which kid it should have. */
export async function checkKidPresent(
  token: DecodedToken,
  keys: readonly KeyRecord[],
): Promise<Finding> {
  const { kid } = token.header
  if (typeof kid === 'string' && kid !== '') return passed('The header names a key.')
  const fault =
    kid === undefined || kid === ''
      ? 'The header has no kid. Set it to the kid that was returned when the key was registered.'
      : 'The kid in the header is not a string.'
  return failed(`${fault}${await describeSigner(token, keys)}`)
}

/** Whether the project has the key. A key of another project is unknown here. */
export async function checkKidKnown(
  token: DecodedToken,
  keys: readonly KeyRecord[],
): Promise<Finding> {
  const { kid } = token.header
  const key = findKey(keys, kid)
  if (key !== undefined) return passed(`The project has this key: ${quote(key.label)}.`)
  const fault =
    confusionOf(String(kid), keys) ??
    'The project has no key with this kid. It was deleted, or never registered here.'
  return failed(`${fault}${await describeSigner(token, keys)}`)
}

/** Explains a `kid` that is almost the one of a key, or another property of it. */
function confusionOf(kid: string, keys: readonly KeyRecord[]): string | undefined {
  const trimmed = kid.trim()
  const spaced = findKey(keys, trimmed)
  if (spaced !== undefined) return `The kid has white space around it. It must be ${kidOf(spaced)}.`
  const byId = keys.find(({ id }) => id === parseId(trimmed))
  if (byId?.publishedKid !== undefined) {
    return `The kid is the id of a key that is published as ${byId.publishedKid}. Use that kid.`
  }
  if (byId !== undefined) return `The kid must be exactly ${byId.id}, in lower case.`
  const properties: [string, (key: KeyRecord) => boolean][] = [
    ['thumbprint', ({ thumbprint }) => thumbprint === trimmed],
    ['spkiSha256', ({ spkiSha256 }) => spkiSha256 === trimmed.toLowerCase()],
    ['label', ({ label }) => label === trimmed],
  ]
  for (const [name, matches] of properties) {
    const [found, ...others] = keys.filter(matches)
    if (found === undefined) continue
    if (others.length > 0) return `The kid is the ${name} of several keys. Use the kid of one.`
    return `The kid is the ${name} of a key. Use its kid, ${kidOf(found)}.`
  }
  return undefined
}

/** Keys whose signature is tried for a token without a known `kid`; the newest ones. */
const maxTried = 100

/** A sentence on the key that the signature fits; empty for a token without an algorithm. */
async function describeSigner(token: DecodedToken, keys: readonly KeyRecord[]): Promise<string> {
  const { alg } = token.header
  const candidates = keys.filter(({ jwsAlgorithm }) => jwsAlgorithm === alg).slice(-maxTried)
  for (const key of candidates) {
    if (!(await verifies(token, key))) continue
    return ` The signature fits the key ${quote(key.label)}: set the kid to ${kidOf(key)}.`
  }
  if (candidates.length === maxTried) {
    return ` The signature fits none of the newest ${maxTried} keys for this algorithm.`
  }
  if (typeof alg !== 'string' || token.signature.length === 0) return ''
  return ' The signature fits no key of the project.'
}
