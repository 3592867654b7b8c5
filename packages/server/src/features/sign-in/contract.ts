import type { Static } from 'typebox'
import {
  component,
  flag,
  optionalText,
  optionalTime,
  RoleName,
  Time,
  Type,
  text,
  Uuid,
} from '../../kernel/contract.ts'

const personMembers = {
  id: Uuid,
  issuer: Type.String({ examples: ['https://id.example.com'] }),
  subject: text('The `sub` claim, which identifies the person at the issuer.', '8f2c61'),
  name: Type.Optional(Type.String({ examples: ['Ada Lovelace'] })),
  email: Type.Optional(Type.String({ examples: ['ada@example.com'] })),
  firstSignInTime: Time,
  lastSignInTime: Time,
}

export const Person = component('Person', 'A person who has signed in.', personMembers)
export type Person = Static<typeof Person>

const sessionMembers = {
  id: Uuid,
  name: text('Name of the person or API key that signed in.', 'Ada Lovelace'),
  personId: Type.Optional(Uuid),
  apiKeyId: Type.Optional(Uuid),
  kind: Type.Enum(['browser', 'command_line'], {
    description: '`command_line`: `pubring login` began it.',
    examples: ['browser'],
  }),
  client: optionalText(
    'Browser and system, as far as the sign-in said; on the command line, the user and the host that it says.',
    'Firefox on Windows',
  ),
  address: optionalText(
    'Network address at the sign-in: of IPv6 the first 64 bits.',
    '203.0.113.7',
  ),
  approvedBy: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description: 'On the command line: the id of the session in which it was approved.',
    }),
  ),
  current: flag('Whether it is the session of this request.'),
  signInTime: optionalTime(
    'When the person proved who they are; absent if the OpenID provider does not say.',
  ),
  createTime: Time,
  expireTime: Time,
  lastUseTime: Time,
}

export const Session = component('Session', 'A signed-in browser or command line.', sessionMembers)
export type Session = Static<typeof Session>

export const Self = component('Self', 'The caller.', {
  type: Type.Enum(['api_key', 'person']),
  name: Type.String({ examples: ['Ada Lovelace'] }),
  apiKeyId: Type.Optional(Uuid),
  person: Type.Optional(Type.Object(personMembers)),
  grants: Type.Array(Type.Object({ role: RoleName, projectId: Type.Optional(Uuid) }), {
    description: 'Roles; without `projectId` for all projects.',
  }),
  session: Type.Optional(Type.Object(sessionMembers)),
  recentSignInUntil: optionalTime(
    'Until then, the session may do what needs a recent sign-in. Absent without a session, and if the sign-in is not recent.',
  ),
})
export type Self = Static<typeof Self>

export const SignInOptions = component('SignInOptions', 'How people can sign in.', {
  consoleUrl: text(
    'The address of the console. Changes by a session are accepted from there alone.',
    'https://keys.example.com/console/',
  ),
  oidc: Type.Optional(
    Type.Object({
      url: text(
        'Address to send the browser to, with `return`: the page of the console to come back to, below `/console/`; and with `recent=true` for a new proof of identity.',
        'https://keys.example.com/sign-in',
      ),
    }),
  ),
})
export type SignInOptions = Static<typeof SignInOptions>

export const SignedOut = Type.Object(
  {
    signOutUrl: optionalText(
      'Address to send the browser to, if the person is to be signed out at the OpenID provider as well. It leads back to the console.',
    ),
  },
  { $id: 'SignedOut' },
)
export type SignedOut = Static<typeof SignedOut>

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
