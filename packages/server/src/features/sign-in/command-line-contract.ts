import type { Static } from 'typebox'
import { Type } from '../../kernel/contract.ts'

/** A code, with its PKCE verifier and the port it was brought to; or the secret of a session to renew. */
export const SessionKeyRequest = Type.Object({
  code: Type.Optional(Type.String()),
  codeVerifier: Type.Optional(Type.String()),
  port: Type.Optional(Type.Integer()),
  renewalSecret: Type.Optional(Type.String()),
})
export type SessionKeyRequest = Static<typeof SessionKeyRequest>

/** An API key of a session; with a code, also the secret with which it is renewed. */
export const SessionKey = Type.Object({
  apiKey: Type.String(),
  expiresIn: Type.Integer({ description: 'Seconds.' }),
  renewalSecret: Type.Optional(Type.String()),
})
export type SessionKey = Static<typeof SessionKey>
