import { type Static, Type } from 'typebox'
import { SkippedRules } from './common.ts'

/** The body of every error (RFC 9457). */
export const Problem = Type.Object(
  {
    type: Type.String({ description: 'URL of the documentation of this code.' }),
    title: Type.String(),
    status: Type.Integer({ examples: [400] }),
    detail: Type.String({ description: 'What is wrong and what to do.' }),
    code: Type.String({ description: 'Stable code for programs.', examples: ['weak_key'] }),
    requestId: Type.String({ description: 'Also in the `X-Request-Id` header and in the log.' }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.Optional(
            Type.String({
              description: 'JSON pointer (RFC 6901) to the invalid member of the body.',
              examples: ['/publicKeyPem'],
            }),
          ),
          parameter: Type.Optional(
            Type.String({ description: 'Name of the invalid query parameter.' }),
          ),
          code: Type.String({ examples: ['rsa_modulus_too_small'] }),
          detail: Type.String(),
          skipped: Type.Optional(SkippedRules),
        }),
      ),
    ),
    kid: Type.Optional(Type.String({ description: '`duplicate_key`: the registered key.' })),
    kids: Type.Optional(
      Type.Array(Type.String(), { description: '`key_has_descendants`: the active keys.' }),
    ),
    limit: Type.Optional(Type.Integer({ description: 'The exceeded limit.' })),
  },
  { $id: 'Problem', description: 'An error (RFC 9457).' },
)
export type Problem = Static<typeof Problem>
