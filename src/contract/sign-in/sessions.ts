import { type Static, Type } from 'typebox'
import { RoleName } from '../api-keys.ts'
import { described, Time, Uuid } from '../common.ts'

const personMembers = {
  id: Uuid,
  issuer: Type.String({ examples: ['https://id.example.com'] }),
  subject: Type.String({
    description: 'The `sub` claim, which identifies the person at the issuer.',
    examples: ['8f2c61'],
  }),
  name: Type.Optional(Type.String({ examples: ['Ada Lovelace'] })),
  email: Type.Optional(Type.String({ examples: ['ada@example.com'] })),
  firstSignInTime: Time,
  lastSignInTime: Time,
}

export const Person = Type.Object(personMembers, {
  $id: 'Person',
  description: 'A person who has signed in.',
})
export type Person = Static<typeof Person>

const sessionMembers = {
  id: Uuid,
  name: Type.String({
    description: 'Of the person or API key that signed in.',
    examples: ['Ada Lovelace'],
  }),
  personId: Type.Optional(Uuid),
  apiKeyId: Type.Optional(Uuid),
  current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
  signInTime: Type.Optional(
    described(
      Time,
      'When the person proved who they are; absent if the OpenID provider does not say.',
    ),
  ),
  createTime: Time,
  expireTime: Time,
  lastUseTime: Time,
}

export const Session = Type.Object(sessionMembers, {
  $id: 'Session',
  description: 'A signed-in browser or command line.',
})
export type Session = Static<typeof Session>

export const Self = Type.Object(
  {
    type: Type.Enum(['api_key', 'person']),
    name: Type.String({ examples: ['Ada Lovelace'] }),
    apiKeyId: Type.Optional(Uuid),
    person: Type.Optional(Type.Object(personMembers)),
    grants: Type.Array(Type.Object({ role: RoleName, projectId: Type.Optional(Uuid) }), {
      description: 'Roles; without `projectId` for all projects.',
    }),
    session: Type.Optional(Type.Object(sessionMembers)),
    recentSignInUntil: Type.Optional(
      described(
        Time,
        'Until then, the session may do what needs a recent sign-in. Absent without a session, and if the sign-in is not recent.',
      ),
    ),
  },
  { $id: 'Self', description: 'The caller.' },
)
export type Self = Static<typeof Self>

export const SignInOptions = Type.Object(
  {
    apiKey: Type.Boolean({ description: 'Whether one can sign in with an API key.' }),
    oidc: Type.Optional(
      Type.Object({
        buttonText: Type.String({ examples: ['Sign in with Example'] }),
        url: Type.String({
          description:
            'Address to send the browser to, with `return`: the page of the console to come back to, below `/console/`; and with `recent=true` for a new proof of identity.',
          examples: ['https://keys.example.com/sign-in'],
        }),
      }),
    ),
  },
  { $id: 'SignInOptions', description: 'How people can sign in.' },
)
export type SignInOptions = Static<typeof SignInOptions>

export const SignedOut = Type.Object(
  {
    signOutUrl: Type.Optional(
      Type.String({
        description:
          'Address to send the browser to, if the person is to be signed out at the OpenID provider as well. It leads back to the console.',
      }),
    ),
  },
  { $id: 'SignedOut' },
)
export type SignedOut = Static<typeof SignedOut>
