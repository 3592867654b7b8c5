import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { errorTable } from '../../../../packages/server/src/errors.ts'
import { openApiDocument } from '../../../../scripts/openapi/document.ts'
import { startApp } from '../../../support/app/app.ts'

const server = await startApp()

interface Operation {
  operationId: string
  requestBody?: { content: Record<string, { schema: { $ref: string } }> }
  responses: Record<string, unknown>
}

const document = async () => (await server.send('GET', '/openapi.json')).json()

async function operations(): Promise<Operation[]> {
  const { paths } = await document()
  return Object.values<Record<string, Operation>>(paths).flatMap((item) => Object.values(item))
}

test('it is valid OpenAPI 3.1, and no schema of ours is without a name', async () => {
  const found = await document()
  expect(found.openapi).toMatch(/^3\.1\./)
  expect(await new Validator().validate(found)).toEqual({ valid: true })
  const names = Object.keys(found.components.schemas)
  expect(names.filter((name) => /^(def-)?\d+$/.test(name))).toEqual([])
})

test('docs/openapi.json is what npm run generate makes', async () => {
  const committed = readFileSync('docs/openapi.json', 'utf8')
  expect(committed).toBe(await openApiDocument(server.context))
})

test('it has the public URL of this server', async () => {
  const other = await startApp({ http: { publicUrl: "https://keys.example.com/$'$&" } })
  const found = (await other.send('GET', '/openapi.json')).json()
  expect(found.servers[0].url).toContain("https://keys.example.com/$'$&")
})

test('every operation has a name of its own and the errors that any request can meet', async () => {
  const all = await operations()
  expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(all.length)
  for (const { responses } of all) {
    expect(Object.keys(responses)).toEqual(
      expect.arrayContaining(['400', '408', '431', '500', '501']),
    )
  }
})

test('every operation with a JSON body names the error for a private key in it', async () => {
  const withBody = (await operations()).filter(
    ({ requestBody }) => requestBody?.content['application/json'] !== undefined,
  )
  const missing = withBody.filter(
    ({ responses }) => !JSON.stringify(responses['400']).includes('"private_key_submitted"'),
  )
  expect(withBody.length).toBeGreaterThan(8)
  expect(missing.map(({ operationId }) => operationId)).toEqual([])
})

test('every code that is named exists, with that status', async () => {
  const codes = [
    ...JSON.stringify(await document()).matchAll(
      /"enum":\[(\d{3})\]\},"code":\{"type":"string","enum":(\[[^\]]*\])/g,
    ),
  ]
  expect(codes.length).toBeGreaterThan(50)
  for (const [, status, names] of codes) {
    for (const name of JSON.parse(names ?? '[]')) {
      expect(Reflect.get(errorTable, name)).toMatchObject({ status: Number(status) })
    }
  }
})

describe('the examples work as they stand', () => {
  test.each([
    ['createProject', '/v1/projects'],
    ['createJwtKey', '/v1/projects/payments/jwt-keys'],
    ['createApiKey', '/v1/api-keys'],
  ])('%s', async (operationId, url) => {
    await server.send('POST', '/v1/projects', { body: { name: 'default' } })
    const found = await document()
    const operation = (await operations()).find((each) => each.operationId === operationId)
    const ref = operation?.requestBody?.content['application/json']?.schema.$ref.split('/').at(-1)
    const [example] = found.components.schemas[ref ?? ''].examples
    const target =
      operationId === 'createProject' ? { ...example, name: `${example.name}-2` } : example
    const answer = await server.send('POST', url, { body: target })
    expect(answer.statusCode, answer.body).toBe(201)
  })

  test('createJwtKey, put together from the examples of its members', async () => {
    const { properties } = (await document()).components.schemas.JwtKeyCreate
    // A proof belongs to one API key.
    const { proof: _proof, ...members } = properties
    const example = Object.fromEntries(
      Object.entries<{ examples: unknown[] }>(members).map(([name, { examples }]) => [
        name,
        examples[0],
      ]),
    )
    const answer = await server.send('POST', '/v1/projects/default/jwt-keys', { body: example })
    expect(answer.statusCode, answer.body).toBe(201)
  })
})
