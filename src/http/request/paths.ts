import type { FastifyRequest } from 'fastify'
import { type TProperties, Type } from 'typebox'

const idOrName = Type.String({
  description: 'Id (a UUID) or name of the project.',
  examples: ['default'],
})

/** Path parameters of everything that belongs to a project. */
export const ProjectPath = Type.Object({ projectIdOrName: idOrName })

/** Path parameters of one JWT key. */
export const KeyPath = Type.Object({
  projectIdOrName: idOrName,
  kid: Type.String({
    description: 'Id of the key.',
    examples: ['019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'],
  }),
})

/** Path parameters of one API key. */
export const ApiKeyPath = Type.Object({
  id: Type.String({
    description: 'Id of the API key.',
    examples: ['019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'],
  }),
})

/** The headers of a change that takes a precondition (RFC 9110 section 13.1.1). */
export const Precondition = Type.Object({
  'If-Match': Type.Optional(
    Type.String({
      description: 'The `ETag` of what is changed, as you know it: 412 where it has changed since.',
    }),
  ),
})

/** What `If-Match` asks for, as the core takes it. */
export function preconditionOf({ headers }: FastifyRequest): { ifMatch?: string } {
  const ifMatch = headers['if-match']
  return ifMatch === undefined ? {} : { ifMatch }
}

/** Entries that a page may have, unless a setting says otherwise. */
export const defaultMaxPageSize = 200

/** A query: parameters that are not here are refused. */
export function Query<T extends TProperties>(parameters: T) {
  return Type.Object(parameters, { additionalProperties: false })
}
