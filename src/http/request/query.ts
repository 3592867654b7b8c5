import type { FastifyInstance } from 'fastify'
import type { TObject } from 'typebox'
import type { FieldError } from '../../errors.ts'
import { Query } from './paths.ts'

/** Operations behind an API key refuse every parameter that they do not state. */
export function addQueryDefault(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.config?.access !== undefined && route.schema?.querystring === undefined) {
      route.schema = { ...route.schema, querystring: Query({}) }
    }
  })
}

/** The only spellings that a parameter of the type has. */
const readers: Record<string, { read: (text: string) => unknown; form: string }> = {
  boolean: {
    read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
    form: 'true or false',
  },
  integer: {
    read: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
    form: 'a whole number in digits',
  },
  string: { read: (text) => text, form: 'text' },
}

/**
 * The query in the types of its schema. Each parameter is there once and in its one spelling, or
 * it is a fault: a typing error must not silently widen a list.
 */
export function readQuery(
  schema: TObject,
  query: Record<string, unknown>,
): { values: Record<string, unknown>; faults: FieldError[] } {
  const values: Record<string, unknown> = Object.create(null)
  const faults: FieldError[] = []
  for (const [name, given] of Object.entries(query)) {
    const reader = readers[typeOf(schema, name)]
    // A parameter that the schema does not know goes on as it is, to be refused by its name.
    const value = reader === undefined || typeof given !== 'string' ? given : reader.read(given)
    if (reader !== undefined && (value === undefined || typeof given !== 'string')) {
      faults.push(misread(name, reader.form, typeof given === 'string'))
    } else values[name] = value
  }
  return { values, faults }
}

function misread(parameter: string, form: string, once: boolean): FieldError {
  const detail = once
    ? `The query parameter ${parameter} must be ${form}.`
    : `The query parameter ${parameter} is there more than once: give it once, as ${form}.`
  return { parameter, code: once ? 'wrong_type' : 'repeated_parameter', detail }
}

function typeOf(schema: TObject, name: string): string {
  if (!Object.hasOwn(schema.properties, name)) return ''
  const type: unknown = Reflect.get(schema.properties[name] ?? {}, 'type')
  return typeof type === 'string' ? type : ''
}
