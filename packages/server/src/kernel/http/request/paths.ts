import type { FastifyRequest } from 'fastify'
import type { TProperties } from 'typebox'
import { present } from '../../../runtime/present.ts'
import { Type } from '../../contract/schema.ts'

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
