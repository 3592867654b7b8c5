import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { PubringError } from '../../errors.ts'
import { holdsMoreValues, structureOf } from '../../intake/encoding/json-text.ts'
import { decodeUtf8, parseJson } from '../../runtime/json.ts'
import { printableName } from '../errors/names.ts'
import { expectsContinue } from '../request/protocol.ts'
import { rejectPrivateKey } from './validation.ts'

/** Bytes of a body: four times the longest text of a key, whose line breaks JSON escapes. */
export const maxBodyBytes = 64 * 1024

const maxDepth = 32

/** Values in one body: 10,000 keys with ten members each. */
const maxValues = 120_000

/**
 * Parses bodies of the operations that take one and discards all others: a DELETE with
 * `Content-Type: application/json` and no body is a valid request.
 */
export function addBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer' },
    async ({ routeOptions: { schema, config } }: FastifyRequest, bytes: Buffer) => {
      if (schema?.body === undefined) return undefined
      return config.form ? parseForm(bytes) : parseJsonBody(bytes)
    },
  )
  // The last hook before the body is read.
  app.addHook('preParsing', (request, { raw }, _payload, done) => {
    const limit = request.routeOptions.bodyLimit ?? maxBodyBytes
    const length = Number(request.headers['content-length'] ?? 0)
    if (expectsContinue(request.raw) && length <= limit) raw.writeContinue()
    if (request.routeOptions.schema?.body !== undefined) rejectFragments(request.raw)
    done()
  })
}

/** Chunks of a body after which they must have more than `minChunkBytes` on average. */
const maxSmallChunks = 1_000
const minChunkBytes = 64

/** Disconnects clients that send bodies byte by byte: each byte would take 250 bytes of memory. */
function rejectFragments(body: IncomingMessage): void {
  let chunks = 0
  let bytes = 0
  body.on('data', (chunk: Buffer) => {
    chunks += 1
    bytes += chunk.length
    if (chunks > maxSmallChunks && bytes < chunks * minChunkBytes) body.destroy()
  })
}

/**
 * Parses JSON (RFC 8259) that every parser reads alike: valid UTF-8, no duplicate members, at most
 * 32 levels. `__proto__` is an ordinary member: `JSON.parse` sets no prototype.
 */
function parseJsonBody(bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw invalidJson('The body is empty: send a JSON object.')
  if (holdsMoreValues(bytes, maxValues)) {
    throw invalidJson(`The body holds more than ${maxValues} values. Send fewer per request.`)
  }
  const text = decodeUtf8(bytes)
  if (text === undefined) {
    throw invalidJson(
      'The body is not valid UTF-8. Send the JSON encoded as UTF-8, without binary data.',
    )
  }
  // The parser's own message quotes the body, which may contain a private key.
  const value = parseJson(text)
  if (value === undefined) {
    rejectPrivateKey(text)
    throw invalidJson(
      'The body is not valid JSON. Check quotes and commas, and write line breaks in a PEM as \\n.',
    )
  }
  const { depth, duplicate } = structureOf(text)
  if (depth > maxDepth) {
    throw invalidJson(
      `The body is nested deeper than ${maxDepth} levels. Send one flat JSON object.`,
    )
  }
  if (duplicate !== undefined) {
    throw invalidJson(`${printableName(duplicate, 'A member')} occurs twice in one object.`)
  }
  return value
}

function invalidJson(detail: string): PubringError {
  return new PubringError('invalid_json', detail)
}

/**
 * Parses `application/x-www-form-urlencoded`. Rejects what parsers read differently: broken escapes,
 * and a parameter that occurs twice (RFC 6749 section 3.2).
 */
function parseForm(bytes: Uint8Array): Record<string, string> {
  const text = decodeUtf8(bytes)
  const parameters = [...new URLSearchParams(text)]
  const names = new Set(parameters.map(([name]) => name))
  if (text === undefined || /^\?|%(?![0-9a-f]{2})/i.test(text) || names.size < parameters.length) {
    throw new PubringError('invalid_request', 'The form is malformed, or has a parameter twice.')
  }
  return Object.fromEntries(parameters)
}
