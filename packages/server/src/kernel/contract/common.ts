import type { TProperties, TSchemaOptions, TString } from 'typebox'
import { uuidPattern } from './names.ts'
import { roles } from './roles.ts'
import { Type } from './schema.ts'

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

/** Who made a change. */
export const Actor = Type.Object(
  {
    name: Type.String({ examples: ['deploy pipeline'] }),
    apiKeyId: Type.Optional(Uuid),
    user: Type.Optional(
      Type.Object(
        { issuer: Type.String(), subject: Type.String(), sessionId: Uuid },
        {
          description: 'A person who signed in. The hash of the event covers this and not `name`.',
        },
      ),
    ),
    workload: Type.Optional(
      Type.Object(
        { ruleId: Uuid, issuer: Type.String(), subject: Type.String() },
        { description: 'The workload that exchanged a token for the API key.' },
      ),
    ),
  },
  {
    description:
      'Who requested the change: an API key, a person or a workload; otherwise Pubring itself or a command on the server.',
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
