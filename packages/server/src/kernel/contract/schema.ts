import type { TObject, Type as TypeBox } from 'typebox'

type Builder = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Partial'
  | 'Record'
  | 'Ref'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>

const optional = new WeakSet<object>()

const ofType =
  (type: string) =>
  (options: object = {}) => ({ type, ...options })

/**
 * Makes JSON Schemas as TypeBox does, and with its types. TypeBox itself has more than 300 modules,
 * which would be a fifth of all that a start loads; its validators take any JSON Schema.
 */
export const Type = {
  Array: (items: object, options: object = {}) => ({ type: 'array', items, ...options }),
  Boolean: ofType('boolean'),
  Enum: (values: readonly string[], options: object = {}) => ({ enum: values, ...options }),
  Integer: ofType('integer'),
  Null: ofType('null'),
  Number: ofType('number'),
  Object(properties: Record<string, object>, options: object = {}) {
    const members = Object.entries(properties)
    const required = members.filter(([, schema]) => !optional.has(schema)).map(([name]) => name)
    const names = required.length === 0 ? {} : { required }
    return { type: 'object', ...names, properties, ...options }
  },
  Optional(schema: object) {
    const copy = { ...schema }
    optional.add(copy)
    return copy
  },
  Partial: ({ properties }: TObject, options: object = {}) => ({
    type: 'object',
    properties,
    ...options,
  }),
  Record: (_key: object, value: object, options: object = {}) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  Ref: ($ref: string, options: object = {}) => ({ $ref, ...options }),
  String: ofType('string'),
  Union: (anyOf: object[], options: object = {}) => ({ anyOf, ...options }),
  Unknown: (options: object = {}) => ({ ...options }),
  Unsafe: (schema: object) => ({ ...schema }),
} as object as Builder
