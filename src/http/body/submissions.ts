import type { FastifySchema, FastifySchemaCompiler } from 'fastify'
import type { Static, TObject } from 'typebox'
import { Type } from '../../contract/schema.ts'
import type { Submitted } from '../../core/faults.ts'
import { objectValidator, validator } from './validation.ts'

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
