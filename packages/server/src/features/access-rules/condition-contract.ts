import type { Static } from 'typebox'
import { Type } from '../../kernel/contract.ts'

/** The value that a claim is compared with. */
export type ClaimValue = string | number | boolean

/** Conditions on the claims of a token, all of which must be met. */
export const Conditions = Type.Unsafe<Record<string, ClaimValue>>({
  type: 'object',
  additionalProperties: { type: ['string', 'number', 'boolean'] },
  description:
    'Claims and the value that each must have. A text that ends in `*` is a pattern: the claim must begin with what stands before it. A name that begins with `/` is a JSON pointer (RFC 6901) to a claim inside another. Of a claim that is a list, one element must match. Numbers and booleans match only themselves.',
  examples: [{ repository_id: '74', ref: 'refs/heads/main' }],
})
export type Conditions = Static<typeof Conditions>

/** A merge patch (RFC 7396) of conditions. */
export const conditionsPatch = (description: string, examples?: object[]) =>
  Type.Unsafe<Record<string, ClaimValue | null>>({
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
    description,
    ...(examples && { examples }),
  })
