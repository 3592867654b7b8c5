import { globSync } from 'node:fs'
import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { bodyTypes } from '../../packages/server/src/kernel/http/body/bodies.ts'
import { ProjectPath } from '../../packages/server/src/kernel/http/request/parameters.ts'
import { readManifest } from '../../packages/server/src/runtime/version.ts'
import { reference, responsesOf } from './operations.ts'

const contracts = globSync('packages/server/src/{features/*,kernel}/contract.ts')
const modules = await Promise.all(contracts.map((file) => import(`../../${file}`)))
const components = modules
  .flatMap((module) => Object.values<unknown>(module))
  .filter(isComponent)
  .sort((one, other) => (one.$id < other.$id ? -1 : 1))

const description = `Pubring is a registry of the public keys that verify JWTs.

Every operation under \`/v1\` except those that publish key sets requires an API key in the
\`X-Api-Key\` header. Checks run in this order: 401 (the API key), 429 (the rate limit), 404 (the
project, also if the API key may not see it), 403 (the role), then 415, 413 and 400 (the request).

Errors are problem details (RFC 9457); compare their \`code\`. A path that is not described here
is 404 \`route_not_found\`; an unsupported method is 405 \`method_not_allowed\` with \`Allow\`. HEAD
works wherever GET does.

Later releases may add members to responses, and values to their enumerations: accept those that
you do not know.`

/** The groups of the operations, and what their paths begin with, `/v1` and the project aside. */
const groups: Readonly<Record<string, RegExp>> = {
  'JWT keys': /^(jwt-keys|key-states|key-imports|key-checks|token-checks)\b/,
  'Key sets': /^(verifiers\b|\.well-known\/(?!ledger-proof))/,
  Projects: /^projects\b/,
  'Uses of keys': /^key-uses\b/,
  Rotations: /^rotations\b/,
  'Registration links': /^registration-(links|sessions)\b/,
  Search: /^(search|warnings|project-health)\b/,
  Events: /^(events|history)\b/,
  Log: /^(log|ledger-proof|\.well-known\/ledger-proof)\b/,
  'API keys': /^api-keys\b/,
  'Sign-in': /^(sign-in-options|self|sessions|people)\b/,
  'Access rules': /^(access-rules|token$)/,
  Health: /^(health|status)\b/,
}

function groupOf(url: string): string {
  const path = url.replace(/^\/(v1\/)?(projects\/[^/]+\/)?/, '')
  const [name] = Object.entries(groups).find(([, pattern]) => pattern.test(path)) ?? []
  if (name === undefined) throw new Error(`${url} is in no group of operations.`)
  return name
}

/**
 * Describes every route added later as OpenAPI 3.1, from the schemas of the routes. Long because it
 * is one options record.
 */
export async function addOpenApi(app: FastifyInstance, publicUrl: string): Promise<void> {
  for (const schema of components) app.addSchema(schema)
  const { version, description: summary } = readManifest()
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.1',
      info: {
        title: 'Pubring',
        version,
        summary,
        description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl }],
      tags: Object.keys(groups).map((name) => ({ name })),
      components: {
        securitySchemes: {
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'X-Api-Key',
            description: '`pubring_…`; the first start prints the first one.',
          },
        },
      },
    },
    stripBasePath: false,
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? i) },
    transform: ({ schema, url, route }) => ({
      url,
      schema: describe(
        { method: route.method, url, schema, config: route.config ?? {} },
        publicUrl,
      ),
    }),
    transformObject: (document) =>
      'openapiObject' in document ? withoutHead(document.openapiObject) : document.swaggerObject,
  })
}

function isComponent(value: unknown): value is { $id: string } {
  return typeof value === 'object' && value !== null && '$id' in value
}

function describe(operation: Parameters<typeof responsesOf>[0], publicUrl: string): FastifySchema {
  const { method, url, schema, config } = operation
  if (schema.hide) return schema
  return {
    ...schema,
    tags: [groupOf(url)],
    params: paramsOf(url, schema.params),
    ...(schema.body === undefined
      ? {}
      : { body: reference(schema.body), consumes: bodyTypes(String(method), config) }),
    security: config.access === undefined ? [] : [{ apiKey: [] }],
    response: responsesOf(operation, publicUrl),
  }
}

/** The hooks read the project in the path, so most routes do not name it. */
function paramsOf(url: string, params: unknown): unknown {
  if (!url.includes(':projectIdOrName')) return params
  const { properties } = Object(params)
  return { ...ProjectPath, properties: { ...ProjectPath.properties, ...properties } }
}

/** Removes HEAD, which the general description covers. */
function withoutHead<Document extends { paths?: object }>(document: Document): Document {
  for (const item of Object.values(document.paths ?? {})) Reflect.deleteProperty(item, 'head')
  return document
}
