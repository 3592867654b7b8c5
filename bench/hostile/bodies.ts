/** Bodies that cost more than their size says, for every operation of the API that takes one. */

interface Schema {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
}

export interface Description {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, Media> } }>>
  components: { schemas: Record<string, Schema> }
}

interface Media {
  schema: Schema
}

export interface Operation {
  method: 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  path: string
  /** Media type of the body. */
  type: string
  schema: Schema
}

/** The operations with a body, with resolved schemas. */
export function operationsWithBody({ paths, components }: Description): Operation[] {
  const resolve = ({ $ref, ...schema }: Schema): Schema => {
    const found = $ref === undefined ? schema : components.schemas[$ref.split('/').at(-1) ?? '']
    const { items, properties } = found ?? {}
    const members = Object.entries(properties ?? {}).map(([name, one]) => [name, resolve(one)])
    return {
      ...found,
      ...(properties && { properties: Object.fromEntries(members) }),
      ...(items && { items: resolve(items) }),
    }
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) =>
      Object.entries(requestBody?.content ?? {})
        .slice(0, 1)
        .map(([type, { schema }]) => {
          const operation = { path, type, schema: resolve(schema) }
          return { ...operation, method: method.toUpperCase() as Operation['method'] }
        }),
    ),
  )
}

/** As many different parts as fit. */
function fill(length: number, part: (index: number) => string, separator = ','): string {
  const parts: string[] = []
  let size = 0
  for (let index = 0; ; index += 1) {
    const next = part(index)
    size += next.length + separator.length
    if (size > length) return parts.join(separator)
    parts.push(next)
  }
}

const repeat = (part: string) => (length: number) => part.repeat(length / part.length)

/** Texts that a search, a decoder or a parser may spend long on. */
const texts: Record<string, (length: number) => string> = {
  letters: repeat('a'),
  'base64 of sequences': repeat('MIIB'),
  'hexadecimal digits': repeat('30'),
  'starts of markers': repeat('BEGIN '),
  dashes: repeat('-'),
  'white space': repeat(' '),
  'line breaks': repeat('\\n'),
  backslashes: repeat('\\\\'),
  'escaped characters': repeat('\\u0041'),
  'percent signs': repeat('%41'),
  HTML: repeat('<a &#1;'),
  braces: repeat('{\\"a\\":'),
  'PEM lines': repeat(`-----BEGIN PUBLIC KEY-----\\n${'MIIB'.repeat(16)}\\n`),
  'unusual characters': repeat('\\u00e9'),
  'starts of tokens': repeat('eyJ.'),
}
const textsOfItems = ['base64 of sequences', 'starts of markers', 'percent signs']

const name = (index: number) => index.toString(36)

function isText({ type = [], anyOf = [] }: Schema): boolean {
  return [type].flat().includes('string') || anyOf.some(isText)
}

/** Bodies of at most that many bytes, by what they hold; beside them some just within the bounds. */
export function hostileBodies({ type, schema }: Operation, maxBytes: number): [string, string][] {
  if (type.includes('form')) return hostileForms(maxBytes)
  const size = maxBytes - 200
  const bodies: [string, string][] = [
    ['names', `{${fill(size, (n) => `"${name(n)}":0`)}}`],
    ['long names', `{${fill(size, (n) => `"${name(n).padEnd(64, '_')}":0`)}}`],
    ['brackets', '['.repeat(size / 2) + ']'.repeat(size / 2)],
  ]
  for (const [title, text] of Object.entries(texts)) {
    bodies.push([`${title}, not JSON`, `{"x":"${text(size)}"`])
    bodies.push([`an unknown member of ${title}`, `{"x":"${text(size)}"}`])
  }
  for (const [member, one] of Object.entries(schema.properties ?? {})) {
    bodies.push(...hostileMembers(member, one, size - member.length))
  }
  return bodies
}

function hostileMembers(member: string, schema: Schema, size: number): [string, string][] {
  const bodies: [string, string][] = []
  const list = (title: string, part: (index: number) => string, count?: number) => {
    const items = fill(size, (index) => (index === count ? ' '.repeat(size) : part(index)))
    bodies.push([`${member} with ${title}`, `{"${member}":[${items}]}`])
  }
  const object = fill(size, (n) => `"${name(n)}":"a"`)
  bodies.push([`${member} with names`, `{"${member}":{${object}}}`])
  const names = (index: number) =>
    `{${Array.from({ length: 150 }, (_, n) => `"${name(index * 150 + n)}":0`).join()}}`
  list('objects of different names', names)
  list('objects of different names, within the bounds', names, 120)
  list('numbers', () => '1')
  list('empty lists', () => '[]')
  if (isText(schema)) {
    for (const [title, text] of Object.entries(texts)) {
      bodies.push([`${member} of ${title}`, `{"${member}":"${text(size)}"}`])
    }
  }
  const { properties = {} } = schema.items ?? {}
  for (const [inner] of Object.entries(properties).filter(([, each]) => isText(each))) {
    for (const title of textsOfItems) {
      const text = texts[title]?.(4_000) ?? ''
      list(`items whose ${inner} is ${title}`, (n) => `{"z${n}":0,"${inner}":"${text}"}`, 1_000)
    }
  }
  const faulty = Object.keys(properties).map((inner) => `"${inner}":[]`)
  list('faulty items', () => `{${faulty.join()}}`, 1_000)
  return bodies
}

function hostileForms(maxBytes: number): [string, string][] {
  const grant = 'grant_type=urn:ietf:params:oauth:grant-type:token-exchange'
  const start = `${grant}&subject_token_type=urn:ietf:params:oauth:token-type:jwt&subject_token=`
  const size = maxBytes - start.length - 10
  const forms: [string, string][] = [
    ['names', fill(size, name, '&')],
    ['separators', '&'.repeat(size)],
    ['escapes', `${start}${'%41'.repeat(size / 3)}`],
  ]
  for (const [title, text] of Object.entries(texts)) {
    const claims = Buffer.from(`{"x":"${text(size / 2)}"}`).toString('base64url')
    forms.push([`a token of ${title}`, `${start}eyJhbGciOiJFUzI1NiJ9.${claims}.AAAA`])
  }
  return forms
}
