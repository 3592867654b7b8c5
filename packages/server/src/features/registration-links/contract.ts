import { jwsAlgorithmNames } from '@pubring/intake/algorithms'
import type { Static } from 'typebox'
import {
  component,
  described,
  optionalText,
  optionalTime,
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
export const defaultDays = 7
export const maxDays = 30

const algorithms = Type.Array(Type.Enum(jwsAlgorithmNames, { examples: ['ES256'] }))
const newKeys = Type.Enum(['inactive', 'active'], {
  description:
    'Whether keys registered through the link are `active` at once, or `inactive` until an API key or person with the role writer activates them.',
  examples: ['inactive'],
})

/** What the person who creates the link sets, and the person who opens it reads. */
const terms = {
  note: text(
    'For whom the link is, and what is wanted: 1 to 255 code points, which the person who opens it reads too. It is not in the ledger, and is kept until the project is deleted.',
    'ACME Corp, orders API',
  ),
  newKeys,
  returnUrl: optionalText(
    'Where the page leads back to at the end. Its origin is one of `PUBRING_RETURN_ORIGINS`.',
    'https://platform.example.com/integrations',
  ),
}

const shared = {
  id: Uuid,
  ...terms,
  keys: Type.Array(Uuid, { description: 'Ids of the keys that came through it, oldest first.' }),
  expireTime: described(Time, 'When it ends, with the session of the browser that opened it.'),
}

const members = {
  ...shared,
  algorithms: Type.Optional(algorithms),
  state: Type.Enum(['open', 'used', 'expired', 'revoked'], {
    description:
      '`open`: it has not been opened. `used`: a browser has opened it and may return until `expireTime`. `expired`: it was not opened in time. `revoked`: it was deleted before it ended.',
    examples: ['open'],
  }),
  createTime: Time,
  openTime: optionalTime('When a browser opened it.'),
}

export const RegistrationLink = component(
  'RegistrationLink',
  'A link by which someone outside registers keys of the project.',
  members,
)
export type RegistrationLink = Static<typeof RegistrationLink>

export const RegistrationLinkCreated = component(
  'RegistrationLinkCreated',
  'A new link with its address, which is returned only once.',
  {
    ...members,
    url: text(
      'The address to send. The part after `#` is a secret, which browsers do not send to servers.',
      'https://keys.example.com/register#pubring_…',
    ),
  },
)
export type RegistrationLinkCreated = Static<typeof RegistrationLinkCreated>

export const RegistrationLinkCreate = requestBody(
  'RegistrationLinkCreate',
  {
    ...terms,
    expireTime: Type.Optional({
      ...TimeInput,
      description: `At most ${maxDays} days ahead; ${defaultDays} days if absent.`,
    }),
    newKeys: Type.Optional({ ...newKeys, default: 'inactive' }),
    algorithms: Type.Optional({
      ...algorithms,
      minItems: 1,
      maxItems: jwsAlgorithmNames.length,
      description: 'The algorithms of keys that it accepts; all those of the server if absent.',
    }),
  },
  { examples: [{ note: 'ACME Corp, orders API' }] },
)
export type RegistrationLinkCreate = Static<typeof RegistrationLinkCreate>

export const RegistrationSession = component(
  'RegistrationSession',
  'What the holder of a registration link needs to know.',
  {
    ...shared,
    project: Type.Object({ id: Uuid, name: text('Name of the project.', 'payments') }),
    issuer: text(
      'The `iss` of tokens.',
      'https://keys.example.com/v1/projects/019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
    ),
    algorithms: { ...algorithms, description: 'The algorithms of keys that the link accepts.' },
  },
)
export type RegistrationSession = Static<typeof RegistrationSession>

export const RegistrationSessionCreate = requestBody('RegistrationSessionCreate', {
  secret: text('The part of the address of the link after `#`.', 'pubring_…'),
})
