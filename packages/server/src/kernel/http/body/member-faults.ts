import { createRequire } from 'node:module'
import type { TObject, TSchema } from 'typebox'
import type { TLocalizedValidationError } from 'typebox/error'
import type { Validator } from 'typebox/schema'
import { projectNamePattern } from '../../contract.ts'
import { eventPattern, positionPattern } from '../../ledger/position.ts'
import { suggestedName } from '../faults.ts'

const require = createRequire(import.meta.url)

/** TypeBox's validators, which are loaded with the first request that needs one: 200 modules. */
export function schemaValidators(): typeof import('typebox/schema') {
  return require('typebox/schema')
}

/** A fault of one member. `path` is a JSON pointer relative to the object. */
export interface MemberFault {
  path: string
  code: string
  detail: string
}

/** Our codes for JSON Schema keywords. */
const codes: Record<string, string> = {
  type: 'wrong_type',
  enum: 'unknown_value',
  minLength: 'too_short',
  maxLength: 'too_long',
  minimum: 'out_of_range',
  maximum: 'out_of_range',
}

function codeOf(error: TLocalizedValidationError, value: unknown): string {
  if (error.keyword === 'format' && error.params.format === 'date-time') return 'time_invalid'
  // Every enumeration is one of texts.
  if (error.keyword === 'enum' && typeof value !== 'string') return 'wrong_type'
  return codes[error.keyword] ?? 'invalid'
}

const formats: Record<string, string> = {
  'date-time': 'an RFC 3339 time with a time zone, such as 2027-05-01T12:00:00Z',
  uuid: 'a UUID',
}

const orWithHash = 'or REVISION.HASH8 with the first 8 characters of the hash of that event'

const patterns: Record<string, string> = {
  [projectNamePattern.source]: '1 to 128 characters of a-z, 0-9 and -, without a - at either end',
  [positionPattern]: `a revision, ${orWithHash}`,
  [eventPattern]: `a revision from 1, ${orWithHash}`,
}

/** The JSON type of the value, with its article. */
export function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  return `a ${typeof value}`
}

/** The faults of one member of an object, in sentences that never quote its value. */
export function memberFaults(
  schema: TObject,
  name: string,
): (value: Record<string, unknown>) => MemberFault[] {
  const member: TSchema = schema.properties[name] ?? {}
  let validator: Validator | undefined
  const { value: valueSchema, nullable } = withoutNull(member)
  const required = schema.required?.includes(name) === true
  return (object) => {
    if (!Object.hasOwn(object, name)) {
      return required
        ? [{ path: `/${name}`, code: 'required', detail: `${name} is required.` }]
        : []
    }
    const value = object[name]
    // Compiled on first use, so that the start does not wait for all schemas.
    validator ??= schemaValidators().Compile(member)
    if (validator.Check(value)) return []
    const [, errors] = schemaValidators().Errors(valueSchema, value)
    // A member of a record that does not match is reported as such, and once more for the record.
    const isRepeated = ({ keyword }: TLocalizedValidationError) =>
      keyword === 'additionalProperties' && errors.length > 1
    return errors
      .filter((error) => !isRepeated(error))
      .map((error) => ({
        path: `/${name}${error.instancePath}`,
        code: codeOf(error, valueAt(value, error.instancePath)),
        detail: sentence(
          `${name}${error.instancePath}`,
          valueAt(value, error.instancePath),
          error,
          nullable,
        ),
      }))
  }
}

/** The value at a JSON pointer that exists. */
function valueAt(value: unknown, pointer: string): unknown {
  const path = pointer.split('/').slice(1)
  const names = path.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return names.reduce((inner, name) => Reflect.get(Object(inner), name), value)
}

/** Separates `null` from a schema, so that faults describe the other type. */
function withoutNull(schema: TSchema): { value: TSchema; nullable: boolean } {
  const branches: unknown = Reflect.get(schema, 'anyOf')
  if (!Array.isArray(branches)) return { value: schema, nullable: false }
  const [value, ...others]: TSchema[] = branches.filter(({ type }) => type !== 'null')
  const nullable = value !== undefined && others.length === 0
  return nullable ? { value, nullable } : { value: schema, nullable }
}

function sentence(
  name: string,
  value: unknown,
  error: TLocalizedValidationError,
  nullable: boolean,
): string {
  switch (error.keyword) {
    case 'type':
      return `${name} must be ${typeNames(error.params.type)}${nullable ? ' or null' : ''}, not ${typeName(value)}.`
    case 'enum':
      return enumSentence(name, value, error.params.allowedValues.map(String))
    case 'format':
      return `${name} must be ${formats[error.params.format] ?? `a valid ${error.params.format}`}.`
    case 'pattern':
      return `${name} must be ${patterns[String(error.params.pattern)] ?? `a text that matches ${error.params.pattern}`}.`
    case 'minLength':
      return `${name} must have ${count(error.params.limit)} or more.`
    case 'maxLength':
      return `${name} may have no more than ${count(error.params.limit)}.`
    case 'minimum':
      return `${name} must be at least ${error.params.limit}.`
    case 'maximum':
      return `${name} may be at most ${error.params.limit}.`
    default:
      return `${name} is not valid: ${error.message}.`
  }
}

function count(characters: number): string {
  return characters === 1 ? '1 character' : `${characters} characters`
}

function typeNames(types: string | string[]): string {
  const article = (type: string) => (/^[aio]/.test(type) ? `an ${type}` : `a ${type}`)
  return [types].flat().map(article).join(' or ')
}

function enumSentence(name: string, value: unknown, allowed: string[]): string {
  const names = allowed.join(', ')
  if (typeof value !== 'string') {
    return `${name} must be a string, one of ${names}; it is ${typeName(value)}.`
  }
  const list = `${name} must be one of ${names}`
  const suggestion = suggestedName(value, allowed)
  return suggestion === undefined ? `${list}.` : `${list}. Did you mean "${suggestion}"?`
}
