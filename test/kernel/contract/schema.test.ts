import { Type as TypeBox } from 'typebox'
import { expect, test } from 'vitest'
import { Type } from '../../../packages/server/src/kernel/contract.ts'

/** One schema with every function of the builder, each with options and without. */
function everySchema(type: typeof Type): object {
  const options = { description: 'Some text.', $id: 'Name' }
  return type.Object(
    {
      array: type.Array(type.String()),
      arrayWithOptions: type.Array(type.Ref('Name#'), { maxItems: 3 }),
      boolean: type.Boolean(),
      booleanWithOptions: type.Boolean(options),
      enum: type.Enum(['a', 'b']),
      enumWithOptions: type.Enum(['a', 'b'], options),
      integer: type.Integer({ minimum: 1 }),
      null: type.Null(),
      number: type.Number({ maximum: 2 }),
      emptyObject: type.Object({}),
      optionalOnly: type.Object({ a: type.Optional(type.String()) }, options),
      optional: type.Optional(type.Integer(options)),
      again: type.Optional(type.Optional(type.Union([type.Null(), type.String()]))),
      noLongerOptional: { ...type.Optional(type.String()) },
      partial: type.Partial(type.Object({ a: type.String(), b: type.Optional(type.Null()) })),
      partialWithOptions: type.Partial(type.Object({ a: type.String() }), options),
      record: type.Record(type.String(), type.Unknown()),
      recordWithOptions: type.Record(type.String(), type.Boolean(), options),
      ref: type.Ref('Name#'),
      string: type.String({ pattern: '^a$', ...options }),
      union: type.Union([type.String(), type.Null()], options),
      unknown: type.Unknown(options),
      unsafe: type.Unsafe<string>({ type: 'string', enum: ['a'] }),
    },
    { additionalProperties: false },
  )
}

test('it makes the JSON Schemas that TypeBox makes, with members in the same order', () => {
  expect(JSON.stringify(everySchema(Type))).toBe(JSON.stringify(everySchema(TypeBox)))
})
