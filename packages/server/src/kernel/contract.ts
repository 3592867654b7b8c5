import type {
  Static,
  TObject,
  TProperties,
  TSchemaOptions,
  TString,
  Type as TypeBox,
} from 'typebox'

/** Roles from weak to strong; each includes the permissions of the previous ones. */
export const rankedRoles = ['reader', 'registrar', 'writer', 'admin'] as const
export type RankedRole = (typeof rankedRoles)[number]

/** All roles. An auditor reads everything of all projects, and changes nothing. */
export const roles = [...rankedRoles, 'auditor'] as const
export type Role = (typeof roles)[number]

/** The states of a key, as `KeyState` describes; the first that applies. */
export const keyStates = [
  'compromised',
  'spreading',
  'current',
  'previous',
  'off',
  'expired',
] as const

/** Project names need no escaping in URLs. `parseProjectName` also rules out UUIDs. */
export const projectNamePattern = /^[a-z0-9](?:[a-z0-9-]{0,126}[a-z0-9])?$/

/** A lower-case UUID (RFC 9562) of any version. */
export const uuidPattern = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'

/** The kid of the only entry of a key set that stands for none: no key of a project can have it. */
export const placeholderKid = 'no-active-key'

type Builder = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Partial'
  | 'Record'
  | 'Ref'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>

const optional = new WeakSet<object>()

const ofType =
  (type: string) =>
  (options: object = {}) => ({ type, ...options })

/**
 * Makes JSON Schemas as TypeBox does, and with its types. TypeBox itself has more than 300 modules,
 * which would be a fifth of all that a start loads; its validators take any JSON Schema.
 */
export const Type = {
  Array: (items: object, options: object = {}) => ({ type: 'array', items, ...options }),
  Boolean: ofType('boolean'),
  Enum: (values: readonly string[], options: object = {}) => ({ enum: values, ...options }),
  Integer: ofType('integer'),
  Null: ofType('null'),
  Number: ofType('number'),
  Object(properties: Record<string, object>, options: object = {}) {
    const members = Object.entries(properties)
    const required = members.filter(([, schema]) => !optional.has(schema)).map(([name]) => name)
    const names = required.length === 0 ? {} : { required }
    return { type: 'object', ...names, properties, ...options }
  },
  Optional(schema: object) {
    const copy = { ...schema }
    optional.add(copy)
    return copy
  },
  Partial: ({ properties }: TObject, options: object = {}) => ({
    type: 'object',
    properties,
    ...options,
  }),
  Record: (_key: object, value: object, options: object = {}) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  Ref: ($ref: string, options: object = {}) => ({ $ref, ...options }),
  String: ofType('string'),
  Union: (anyOf: object[], options: object = {}) => ({ anyOf, ...options }),
  Unknown: (options: object = {}) => ({ ...options }),
  Unsafe: (schema: object) => ({ ...schema }),
} as object as Builder

/** A lower-case UUID (RFC 9562); new ids are version 7. */
export const Uuid = Type.String({
  format: 'uuid',
  pattern: uuidPattern,
  examples: ['019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'],
})

/** ISO 8601 in UTC with milliseconds: `2026-05-01T12:00:00.000Z`. */
export const Time = Type.String({
  format: 'date-time',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$',
  examples: ['2026-05-01T12:00:00.000Z'],
})

/** A time in a request: RFC 3339 with any offset. */
export const TimeInput = Type.String({
  format: 'date-time',
  maxLength: 64,
  examples: ['2027-05-01T12:00:00Z'],
})

/** A time in a patch. */
export const ClearableTime = Type.Union([TimeInput, Type.Null()], {
  description: '`null` clears it.',
})

export const RoleName = Type.Enum([...roles], {
  description:
    '`reader` reads, `registrar` also creates JWT keys, `writer` also changes and deletes them, `admin` changes everything. `auditor`, for all projects only, reads everything and changes nothing.',
  examples: ['writer'],
})

const user = Type.Optional(
  Type.Object(
    { issuer: Type.String(), subject: Type.String(), sessionId: Uuid },
    { description: 'A person who signed in. The hash of the event covers this and not `name`.' },
  ),
)

const workload = Type.Optional(
  Type.Object(
    { ruleId: Uuid, issuer: Type.String(), subject: Type.String() },
    { description: 'The workload that exchanged a token for the API key.' },
  ),
)

/** Who made a change. */
export const Actor = Type.Object(
  {
    name: Type.String({ examples: ['deploy pipeline'] }),
    apiKeyId: Type.Optional(Uuid),
    user,
    workload,
    jwtKeyId: Type.Optional(Uuid),
    link: Type.Optional(
      Type.Object(
        { id: Uuid, createdBy: Type.Object({ apiKeyId: Type.Optional(Uuid), user, workload }) },
        {
          description:
            'The holder of a registration link, whose note is `name`, and who created the link. The hash of the event covers this and not `name`.',
        },
      ),
    ),
  },
  {
    description:
      'Who requested the change: an API key, a person, a workload, a JWT key that proved itself (`jwtKeyId`) or the holder of a registration link; otherwise Pubring itself or a command on the server.',
  },
)

/** A text of the same form, with a description of its own. */
export function described(text: TString, description: string) {
  return Type.Unsafe<string>({ ...text, description })
}

/** The member of a key's fault that names what was left unchecked. */
export const SkippedRules = Type.Array(Type.String({ examples: ['rsa_primes_too_close'] }), {
  description:
    'Slow rules of the key policy that were not checked, because this fault already rejects the key.',
})

/** A schema that the API description has under this name. */
export function component<Members extends TProperties>(
  $id: string,
  description: string,
  members: Members,
) {
  return Type.Object(members, { $id, description })
}

/** The body of a request, in which unknown members are errors. */
export function requestBody<Members extends TProperties>(
  $id: string,
  members: Members,
  options: TSchemaOptions = {},
) {
  return Type.Object(members, { $id, additionalProperties: false, ...options })
}

/** A request body of which every member may be left out. */
export function mergePatch<Members extends TProperties>($id: string, members: Members) {
  const options = { description: 'A merge patch (RFC 7396).' }
  return Type.Partial(Type.Object(members), { $id, additionalProperties: false, ...options })
}

/** A text; its examples show what it looks like. */
export function text(description: string, ...examples: string[]) {
  return Type.String({ description, ...(examples.length > 0 && { examples }) })
}

export function optionalText(description: string, ...examples: string[]) {
  return Type.Optional(text(description, ...examples))
}

export function flag(description: string, ...examples: boolean[]) {
  return Type.Boolean({ description, ...(examples.length > 0 && { examples }) })
}

export function optionalTime(description: string) {
  return Type.Optional(described(Time, description))
}

export function optionalUuid(description: string) {
  return Type.Optional(described(Uuid, description))
}

export function JsonObject(description: string) {
  return Type.Record(Type.String(), Type.Unknown(), { description })
}

/** A token with an invented signature. */
export const exampleToken =
  'eyJhbGciOiJSUzI1NiIsImtpZCI6IjAxOWFjOGYyLTZjMWUtN2Q1My1hMWIwLTVmMGU0YzlkMmI3MSJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl'

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
  heldUntil: Type.Optional(
    text('`project_name_taken`: when a name is free that another project gave up.'),
  ),
  endTime: Type.Optional(text('`log_ended`: when the next log was started.')),
  next: Type.Optional(text('`log_ended`: the address of the next log.')),
})
export type Problem = Static<typeof Problem>
