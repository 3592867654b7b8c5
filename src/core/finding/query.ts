import { PubringError } from '../../errors.ts'
import { decodeUtf8, isObject, parseJson } from '../../runtime/json.ts'
import { soleProject } from '../access/grants.ts'
import type { RequestContext } from '../access/principal.ts'
import { rejection } from '../faults.ts'
import { recordExposureOf } from '../keys/intake.ts'
import { containsPrivateKey } from '../labels.ts'
import { containsApiKey, containsToken } from '../redaction.ts'
import { createNeedle } from './needle.ts'
import type { Needle } from './reads.ts'

/** No label, name or id has more characters. */
const maxLength = 510

/**
 * What to search for. Of a pasted public key, its thumbprint. Throws `private_key_submitted`, and
 * `invalid_request` for other secrets and for texts that nothing is called.
 */
export async function readQuery(context: RequestContext, query: string): Promise<Needle> {
  if (containsPrivateKey(query) || /-----BEGIN /.test(query)) {
    const verdict = await context.intake.examine(query)
    const project = soleProject(context.principal.grants)
    const recorded = await recordExposureOf(context, project, verdict)
    if (recorded.ok) return createNeedle(recorded.key.thumbprint)
    throw rejection(recorded.faults.map((fault) => ({ parameter: 'q', ...fault })))
  }
  if (containsToken(query)) throw invalid(`q is a token (JWT). ${kidAdvice(query)}`)
  if (containsApiKey(query)) {
    throw invalid('q is an API key, a secret. Send an id, a hash, a label or a name.')
  }
  const needle = createNeedle(query)
  if (needle.text === '') throw invalid('q is empty. Send an id, a hash, a label or a name.')
  if (needle.text.length > maxLength) {
    throw invalid(
      `q is longer than any label or id (${maxLength} characters). Send an id, a hash, or the beginning of a label or name.`,
    )
  }
  return needle
}

function invalid(detail: string): PubringError {
  const errors = [{ parameter: 'q', code: 'invalid', detail }]
  return new PubringError('invalid_request', detail, { errors })
}

/** The kid in the header of a token, which names its key, is no secret. */
function kidAdvice(query: string): string {
  const [header = ''] = /\bey[\w-]+(?=\.)/.exec(query) ?? []
  const members = parseJson(decodeUtf8(Buffer.from(header, 'base64url')) ?? '')
  const kid = isObject(members) ? members.kid : undefined
  return typeof kid === 'string' && /^[\w.~:/+=@-]{1,255}$/.test(kid)
    ? `Search for its kid instead: ${kid}`
    : 'Search for the kid in its header, or check it: POST …/token-checks.'
}
