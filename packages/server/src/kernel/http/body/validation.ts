import type { FastifyInstance, FastifySchema, FastifySchemaCompiler } from 'fastify'
import type { FastifyRouteSchemaDef } from 'fastify/types/schema.js'
import type { Static, TObject, TSchema } from 'typebox'
import type { Validator } from 'typebox/schema'
import { type FieldError, PubringError } from '../../../errors.ts'
import { isObject } from '../../../runtime/json.ts'
import { Type } from '../../contract.ts'
import type { Submitted } from '../../faults.ts'
import { containsPrivateKey } from '../../values/labels.ts'
import { printableName, suggestedName } from '../faults.ts'
import { readQuery } from '../request/parameters.ts'
import { type MemberFault, memberFaults, schemaValidators, typeName } from './member-faults.ts'

/** Faults reported per request. */
const maxFaults = 20

type ValidationResult = { value: unknown } | { error: Error }

/**
 * Validates requests against the schemas of their route without converting, defaulting or dropping
 * anything, and reports all independent faults at once.
 */
export function addValidation(app: FastifyInstance): void {
  app.setValidatorCompiler(validator)
  // Handlers send what the schema of their response names; tests compare the two.
  app.setSerializerCompiler(() => JSON.stringify)
}

/** For Fastify's options: keeps it from loading the compilers that `addValidation` replaces. */
export const withoutCompilers = {
  compilersFactory: { buildValidator: unusedCompiler, buildSerializer: unusedCompiler },
}

function unusedCompiler(): never {
  throw new Error('addValidation has not been called.')
}

/** Validates one part of a request. */
function validator({
  schema,
  httpPart,
}: Pick<FastifyRouteSchemaDef<TObject>, 'schema' | 'httpPart'>) {
  return httpPart === 'querystring' ? queryValidator(schema) : bodyValidator(schema)
}

function bodyValidator(schema: TObject): (body: unknown) => ValidationResult {
  const validate = objectValidator(schema, 'The body')
  return (body) => {
    const result = validate(body)
    if ('value' in result) return result
    return isObject(body) ? rejectedBody(body, result.faults) : rejected(result.faults)
  }
}

/** A value that does not match its schema. */
interface InvalidObject<Value> {
  faults: FieldError[]
  /** The members without a fault. */
  members: Partial<Value>
}

/** Returns the value if it matches the schema, and otherwise all its faults. */
function objectValidator<Value>(
  schema: TObject,
  name: string,
): (value: unknown) => { value: Value } | InvalidObject<Value> {
  let whole: Validator | undefined
  const membersOf = objectFaults(schema, 'field', (path) => ({ pointer: path }))
  return (value) => {
    // Compiled on first use, so that the start does not wait for all schemas.
    whole ??= schemaValidators().Compile(schema)
    if (whole.Check(value)) return { value: value as Value }
    if (isObject(value)) {
      const faults = membersOf(value)
      return { faults, members: validMembers<Value>(schema, value, faults) }
    }
    const actual = value === undefined ? 'missing' : typeName(value)
    const detail = `${name} must be a JSON object; it is ${actual}.`
    return { faults: [{ pointer: '', code: 'wrong_type', detail }], members: {} }
  }
}

function validMembers<Value>(
  { properties }: TObject,
  value: Record<string, unknown>,
  faults: readonly FieldError[],
): Partial<Value> {
  const invalid = new Set(faults.map(({ pointer = '' }) => pointer.split('/')[1]))
  const isValid = (name: string) => Object.hasOwn(properties, name) && !invalid.has(name)
  const entries = Object.entries(value).filter(([name]) => isValid(name))
  return Object.fromEntries(entries) as Partial<Value>
}

function rejectedBody(body: object, faults: FieldError[]): ValidationResult {
  try {
    rejectPrivateKey(JSON.stringify(body))
  } catch (error) {
    if (error instanceof PubringError) return { error }
    throw error
  }
  return rejected(faults)
}

/**
 * Throws `private_key_submitted` if the text of a rejected body contains a private key: a
 * compromised key matters more than a missing field.
 */
export function rejectPrivateKey(text: string): void {
  if (!containsPrivateKey(text)) return
  throw new PubringError(
    'private_key_submitted',
    'The body contains a private key. Nothing of it was stored. Treat that key as compromised: generate a new pair and send only its public key, in publicKeyPem.',
  )
}

function queryValidator(schema: TObject): (query: unknown) => ValidationResult {
  const faultsOf = objectFaults(schema, 'parameter', (path) => ({ parameter: path.slice(1) }))
  return (query) => {
    const { values, faults } = readQuery(schema, isObject(query) ? query : {})
    const all = [...faults, ...faultsOf(values)]
    return all.length === 0 ? { value: values } : rejected(all)
  }
}

function rejected(faults: FieldError[]): ValidationResult {
  const errors = faults.slice(0, maxFaults)
  const detail = errors.map((fault) => fault.detail).join(' ')
  return { error: new PubringError('invalid_request', detail, { errors }) }
}

/** All faults of an object's members, each member validated by itself. */
function objectFaults(
  schema: TObject,
  kind: keyof typeof kinds,
  place: (path: string) => Pick<FieldError, 'pointer' | 'parameter'>,
): (value: Record<string, unknown>) => FieldError[] {
  const names = Object.keys(schema.properties)
  const members = names.map((name) => memberFaults(schema, name))
  const spellings = spellingsOf(schema)
  return (value) => {
    const located = ({ path, ...fault }: MemberFault) => ({ ...place(path), ...fault })
    const unknown = Object.keys(value).filter((name) => !names.includes(name))
    return [
      ...unknown.slice(0, maxFaults).map((name) => ({
        ...place(isPrintable(name) ? `/${name}` : ''),
        code: `unknown_${kind}`,
        detail: unknownName(name, names, kind),
      })),
      ...missingSpelling(spellings, value).map(located),
      ...members.flatMap((faultsOf) => faultsOf(value).map(located)),
    ]
  }
}

/** Alternative names of one required member, stated as `anyOf` of `required`. */
function spellingsOf(schema: TSchema): string[] {
  const branches: unknown = Reflect.get(schema, 'anyOf')
  if (!Array.isArray(branches)) return []
  return branches.flatMap((branch: { required?: string[] }) => branch.required ?? [])
}

function missingSpelling(spellings: string[], value: Record<string, unknown>): MemberFault[] {
  const [name] = spellings
  if (name === undefined || spellings.some((spelling) => Object.hasOwn(value, spelling))) return []
  return [{ path: `/${name}`, code: 'required', detail: `${name} is required.` }]
}

const kinds = { field: 'field', parameter: 'query parameter' } as const

function unknownName(name: string, valid: readonly string[], kind: keyof typeof kinds): string {
  const suggestion = suggestedName(name, valid)
  const known =
    valid.length === 0 ? `There is no ${kinds[kind]} here.` : `Valid are: ${valid.join(', ')}.`
  const hint = suggestion === undefined ? known : `Did you mean "${suggestion}"?`
  return `There is no ${kinds[kind]} ${printableName(name, 'of that name')}. ${hint}`
}

function isPrintable(name: string): boolean {
  return printableName(name, '') !== ''
}

/**
 * The validator compiler of routes that read their body with `bodyReader`: it accepts every object,
 * so that faults which no schema describes are reported beside those of other fields.
 */
export const anyObjectAsBody: FastifySchemaCompiler<FastifySchema> = bodyAs(Type.Object({}))

/** A validator compiler that validates the body against this schema instead of the route's. */
export function bodyAs(body: TObject): FastifySchemaCompiler<FastifySchema> {
  return ({ schema, httpPart = '' }) =>
    validator({ schema: httpPart === 'body' ? body : (schema as TObject), httpPart })
}

/** Reads the members of a body, or of a part of it; `name` is the subject of errors about all of it. */
export function bodyReader<Schema extends TObject>(
  schema: Schema,
  name = 'The body',
): (value: unknown) => Submitted<Static<Schema>> {
  const validate = objectValidator<Static<Schema>>(schema, name)
  return (value) => {
    const result = validate(value)
    if ('value' in result) return { fields: result.value }
    const { members, faults } = result
    return { fields: members, malformed: { faults, text: JSON.stringify(value) } }
  }
}
