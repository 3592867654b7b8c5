import { jwsAlgorithmNames } from '@pubring/intake/algorithms'
import type { Static } from 'typebox'
import {
  component,
  described,
  optionalText,
  requestBody,
  Time,
  TimeInput,
  Type,
  text,
  Uuid,
} from '../../kernel/contract.ts'

/** The most links of a project that may be open at once. */
export const maxOpenLinks = 100

/** Days until a link expires: without an `expireTime`, and at most. */
export const lifetimeDays = { default: 7, max: 30 }

const algorithms = Type.Array(Type.Enum(jwsAlgorithmNames, { examples: ['ES256'] }))

/** What the person who creates the link sets, and the person who opens it reads. */
const terms = {
  note: text(
    'Who the link is for and what is wanted; its holder reads it too: 1 to 255 code points. It is not in the ledger, and is kept until the project is deleted.',
    'ACME Corp, orders API',
  ),
  newKeys: Type.Enum(['inactive', 'active'], {
    description: 'Whether keys are active at once, or wait until a writer activates them.',
    examples: ['inactive'],
  }),
  returnUrl: optionalText(
    'Where its page leads back to. The origin is one of `PUBRING_RETURN_ORIGINS`.',
    'https://platform.example.com/integrations',
  ),
}

const members = {
  id: Uuid,
  ...terms,
  algorithms: Type.Optional(algorithms),
  state: Type.Enum(['open', 'used', 'expired', 'revoked'], {
    description: '`used`: the browser that opened it may return. `expired`: none did in time.',
    examples: ['open'],
  }),
  keys: Type.Array(Uuid, { description: 'Ids of the keys that came through it, oldest first.' }),
  createTime: Time,
  expireTime: described(Time, 'When it ends, with the session of the browser that opened it.'),
}

export const RegistrationLink = component('RegistrationLink', 'A link to register keys.', members)
export type RegistrationLink = Static<typeof RegistrationLink>

export const RegistrationLinkCreated = component('RegistrationLinkCreated', 'A new link.', {
  ...members,
  url: text(
    'The address to send, which is returned only once. The part after `#` is a secret, which browsers do not send to servers.',
    'https://keys.example.com/register#pubring_…',
  ),
})

export const RegistrationLinkCreate = requestBody(
  'RegistrationLinkCreate',
  {
    ...terms,
    newKeys: Type.Optional({ ...terms.newKeys, default: 'inactive' }),
    expireTime: Type.Optional(
      described(
        TimeInput,
        `At most ${lifetimeDays.max} days ahead. The default is ${lifetimeDays.default}.`,
      ),
    ),
    algorithms: Type.Optional({
      ...algorithms,
      minItems: 1,
      uniqueItems: true,
      description: 'The algorithms of keys that it accepts; all those of the server if absent.',
    }),
  },
  { examples: [{ note: 'ACME Corp, orders API' }] },
)
export type RegistrationLinkCreate = Static<typeof RegistrationLinkCreate>

export const RegistrationSession = component(
  'RegistrationSession',
  'A registration link, with what its holder needs to know.',
  {
    ...members,
    project: Type.Object({ id: Uuid, name: text('Name of the project.', 'payments') }),
    issuer: text('The `iss` of tokens.', 'https://keys.example.com/v1/projects/019ac8f2-…'),
    algorithms: { ...algorithms, description: 'The algorithms of keys that the link accepts.' },
  },
)

export const RegistrationSessionCreate = requestBody('RegistrationSessionCreate', {
  secret: text('The part of the address of the link after `#`.', 'pubring_…'),
})
