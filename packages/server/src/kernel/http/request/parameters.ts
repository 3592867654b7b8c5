import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { TObject, TProperties } from 'typebox'
import type { FieldError } from '../../../errors.ts'
import { present } from '../../../runtime/present.ts'
import { Type } from '../../contract.ts'

/** The path parameter of every operation on a project; routes that read it name it. */
export const ProjectPath = Type.Object({
  projectIdOrName: Type.String({
    description: 'Id (a UUID) or name of the project.',
    examples: ['default'],
  }),
})

/** Path parameter of operations on one JWT key. */
export const KeyPath = Type.Object({
  kid: Type.String({
    description: 'Id of the key, or its `publishedKid`.',
    examples: ['019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'],
  }),
})

/** Path parameter of operations on one record. */
export function recordPath(noun: string) {
  return Type.Object({
    id: Type.String({
      description: `Id of the ${noun}.`,
      examples: ['019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'],
    }),
  })
}

/** Headers of changes that accept a precondition (RFC 9110 section 13.1.1). */
export const Precondition = Type.Object({
  'If-Match': Type.Optional(
    Type.String({
      description: 'The `ETag` you last saw; the change fails with 412 if it is outdated.',
    }),
  ),
})

export function preconditionOf({ headers }: FastifyRequest): { ifMatch?: string } {
  const ifMatch = headers['if-match']
  return present({ ifMatch })
}

/** Entries of the largest page of a list, which clients rely on. */
export const maxPageSize = 200

/** Schema of a query; parameters it does not name are rejected. */
export function Query<T extends TProperties>(parameters: T) {
  return Type.Object(parameters, { additionalProperties: false })
}

/** Operations that need an API key reject every query parameter they do not declare. */
export function addQueryDefault(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.config?.access !== undefined && route.schema?.querystring === undefined) {
      route.schema = { ...route.schema, querystring: Query({}) }
    }
  })
}

/** The spellings accepted for each type of parameter. */
const parsers: Record<string, { parse: (text: string) => unknown; form: string }> = {
  boolean: {
    parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
    form: 'true or false',
  },
  integer: {
    parse: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
    form: 'a whole number in digits',
  },
  string: { parse: (text) => text, form: 'text' },
}

/**
 * Converts the query to the types of its schema. A repeated parameter and any other spelling is a
 * fault: a typo must not silently widen a list.
 */
export function readQuery(
  schema: TObject,
  query: Record<string, unknown>,
): { values: Record<string, unknown>; faults: FieldError[] } {
  const values: Record<string, unknown> = Object.create(null)
  const faults: FieldError[] = []
  for (const [name, raw] of Object.entries(query)) {
    const parser = parsers[typeOf(schema, name)]
    // A parameter that the schema does not declare passes unchanged and is rejected by name later.
    const value = parser === undefined || typeof raw !== 'string' ? raw : parser.parse(raw)
    if (parser !== undefined && (value === undefined || typeof raw !== 'string')) {
      faults.push(invalidParameter(name, parser.form, typeof raw !== 'string'))
    } else values[name] = value
  }
  return { values, faults }
}

function invalidParameter(parameter: string, form: string, isRepeated: boolean): FieldError {
  const detail = isRepeated
    ? `The query parameter ${parameter} occurs more than once: send it once, as ${form}.`
    : `The query parameter ${parameter} must be ${form}.`
  return { parameter, code: isRepeated ? 'repeated_parameter' : 'wrong_type', detail }
}

function typeOf(schema: TObject, name: string): string {
  if (!Object.hasOwn(schema.properties, name)) return ''
  const type: unknown = Reflect.get(schema.properties[name] ?? {}, 'type')
  return typeof type === 'string' ? type : ''
}
