import type { Static } from 'typebox'
import { component, optionalText, SkippedRules, text } from './common.ts'
import { Type } from './schema.ts'

/** The body of every error (RFC 9457). */
export const Problem = component('Problem', 'An error (RFC 9457).', {
  type: text('URL of the documentation of this code.'),
  title: Type.String(),
  status: Type.Integer({ examples: [400] }),
  detail: text('What is wrong and what to do.'),
  code: text('Stable code for programs.', 'weak_key'),
  requestId: text('Also in the `X-Request-Id` header and in the log.'),
  errors: Type.Optional(
    Type.Array(
      Type.Object({
        pointer: optionalText(
          'JSON pointer (RFC 6901) to the invalid member of the body.',
          '/publicKeyPem',
        ),
        parameter: optionalText('Name of the invalid query parameter.'),
        code: Type.String({ examples: ['rsa_modulus_too_small'] }),
        detail: Type.String(),
        skipped: Type.Optional(SkippedRules),
      }),
    ),
  ),
  kid: optionalText('`duplicate_key`: the registered key.'),
  limit: Type.Optional(Type.Integer({ description: 'The exceeded limit.' })),
  ended: Type.Optional(text('`log_ended`: when the next log was started.')),
  next: Type.Optional(text('`log_ended`: the address of the next log.')),
})
export type Problem = Static<typeof Problem>
