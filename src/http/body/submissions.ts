import type { FastifySchema, FastifySchemaCompiler } from 'fastify'
import { type TObject, Type } from 'typebox'
import type { KeyImportItem } from '../../contract/key-imports.ts'
import type { Submission } from '../../core/keys/submission.ts'
import { objectValidator, validator } from './validation.ts'

/**
 * The validator compiler of routes that take a key and read it with `submissionReader`: it accepts
 * every object as a body, so that faults of the key are reported beside those of the other fields.
 */
export const anyObjectAsBody: FastifySchemaCompiler<FastifySchema> = bodyAs(Type.Object({}))

/** A validator compiler that validates the body against this schema instead of the route's. */
export function bodyAs(body: TObject): FastifySchemaCompiler<FastifySchema> {
  return ({ schema, httpPart = '' }) =>
    validator({ schema: httpPart === 'body' ? body : (schema as TObject), httpPart })
}

/** Reads the fields of a submitted key; `name` is the subject of errors about the whole of it. */
export function submissionReader(schema: TObject, name: string): (value: unknown) => Submission {
  const validate = objectValidator<KeyImportItem>(schema, name)
  return (value) => {
    const result = validate(value)
    if ('value' in result) return { fields: result.value }
    const { members, faults } = result
    return { fields: members, malformed: { faults, text: JSON.stringify(value) } }
  }
}
