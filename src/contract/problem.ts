import { type Static, Type } from 'typebox'

/** RFC 9457 problem details, as every error answers. */
export const Problem = Type.Object(
  {
    type: Type.String({ description: 'Address of the page about this code.' }),
    title: Type.String(),
    status: Type.Integer({ examples: [400] }),
    detail: Type.String({ description: 'What is wrong and what to do.' }),
    code: Type.String({ description: 'Stable: compare this.', examples: ['weak_key'] }),
    requestId: Type.String({ description: 'Also in the `X-Request-Id` header and in the log.' }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.Optional(
            Type.String({
              description: 'JSON pointer (RFC 6901) to the member of the body at fault.',
              examples: ['/publicKeyPem'],
            }),
          ),
          parameter: Type.Optional(
            Type.String({ description: 'Name of the query parameter at fault.' }),
          ),
          code: Type.String({ examples: ['rsa_modulus_too_small'] }),
          detail: Type.String(),
        }),
      ),
    ),
    kid: Type.Optional(Type.String({ description: '`duplicate_key`: the key already there.' })),
    limit: Type.Optional(Type.Integer({ description: 'The limit that was met.' })),
  },
  { $id: 'Problem', description: 'An error (RFC 9457).' },
)
export type Problem = Static<typeof Problem>
