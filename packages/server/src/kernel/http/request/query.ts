import type { FastifyInstance } from 'fastify'
import type { TObject } from 'typebox'
import type { FieldError } from '../../../errors.ts'
import { Query } from './paths.ts'

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
