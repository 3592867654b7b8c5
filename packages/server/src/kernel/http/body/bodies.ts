import type { IncomingMessage } from 'node:http'
import { duplicateMember, exceededBound, type JsonBounds } from '@pubring/intake/json'
import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify'
import { PubringError } from '../../../errors.ts'
import { decodeUtf8, parseJson } from '../../../runtime/json.ts'
import { printableName, unsupportedMediaType } from '../faults.ts'
import { expectsContinue } from '../request/headers.ts'
import { rejectPrivateKey } from './validation.ts'

/** Bytes of a body: four times the longest text of a key, whose line breaks JSON escapes. */
export const maxBodyBytes = 64 * 1024

/**
 * Limits of one body, so that none keeps the event loop busy for long: 1,000 keys with all their
 * members, and the claims of a person.
 */
export const maxBody: JsonBounds = { values: 20_000, members: 200, levels: 32 }

/** Parameters of a form. */
const maxParameters = 100

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
  const exceeded = exceededBound(bytes, maxBody)
  if (exceeded !== undefined) throw invalidJson(excesses[exceeded])
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
  const duplicate = duplicateMember(text)
  if (duplicate !== undefined) {
    throw invalidJson(`${printableName(duplicate, 'A member')} occurs twice in one object.`)
  }
  return value
}

const excesses: Record<keyof JsonBounds, string> = {
  values: `The body holds more than ${maxBody.values} values. Send fewer per request.`,
  members: `An object in the body has more than ${maxBody.members} members. No operation takes as many.`,
  levels: `The body is nested deeper than ${maxBody.levels} levels. Send one flat JSON object.`,
}

function invalidJson(detail: string): PubringError {
  return new PubringError('invalid_json', detail)
}

/**
 * Parses `application/x-www-form-urlencoded`. Rejects what parsers read differently: broken escapes,
 * and a parameter that occurs twice (RFC 6749 section 3.2); and more parameters than any client sends.
 */
function parseForm(bytes: Uint8Array): Record<string, string> {
  const text = decodeUtf8(bytes) ?? '?'
  const isParsed =
    !/^\?|%(?![0-9a-f]{2})/i.test(text) &&
    text.split('&', maxParameters + 1).length <= maxParameters
  const parameters = isParsed ? [...new URLSearchParams(text)] : []
  const names = new Set(parameters.map(([name]) => name))
  if (!isParsed || names.size < parameters.length) {
    throw new PubringError('invalid_request', 'The form is malformed, or has a parameter twice.')
  }
  return Object.fromEntries(parameters)
}

/** RFC 9110 section 8.3.1: a type and parameters, which may be quoted. Empty parameters pass. */
const typeName = /^\s*([^\s;]+)/
/** The next parameter. Sticky, so that parsing takes linear time. */
const parameter = /\s*;\s*(?:([^\s;=]+)=("[^"]*"|[^\s;"]*))?/y

/** A longer header is rejected unparsed. */
const maxLength = 1_000

/** The media types that the body of an operation may have. */
export function bodyTypes(method: string, { form }: FastifyContextConfig): string[] {
  if (form) return ['application/x-www-form-urlencoded']
  return ['application/json', ...(method === 'PATCH' ? ['application/merge-patch+json'] : [])]
}

const withoutCharset: Record<string, string> = {
  'application/json; charset=utf-8': 'application/json',
}

/** Bodies must declare JSON in UTF-8, or a form where that is expected: anything else is a 415 before the body is read. */
export function addMediaTypes(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { config, schema } = request.routeOptions
    if (schema?.body === undefined) return done()
    const expected = bodyTypes(request.method, config)
    if (!isAcceptable(request, expected)) throw unsupportedMediaType(expected.join(' or '))
    done()
  })
  // RFC 8259 section 11: JSON has no charset parameter, but Fastify adds one to text.
  app.addHook('onSend', (_request, reply, payload, done) => {
    const type = withoutCharset[String(reply.getHeader('content-type'))]
    if (type !== undefined) reply.header('content-type', type)
    done(null, payload)
  })
}

function isAcceptable(request: FastifyRequest, expected: readonly string[]): boolean {
  const coding = request.headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity') return false
  const type = readMediaType(request.headers['content-type'] ?? '')
  return type !== undefined && expected.includes(type.name) && isUtf8(type.charset)
}

/** The type in lower case and its first `charset`; undefined if the header cannot be parsed. */
function readMediaType(header: string) {
  if (header.length > maxLength) return undefined
  const [start = '', name] = typeName.exec(header) ?? []
  if (name === undefined) return undefined
  let charset: string | undefined
  let at = start.length
  for (;;) {
    parameter.lastIndex = at
    const found = parameter.exec(header)
    if (found === null) break
    const [whole, key, value] = found
    at += whole.length
    if (key?.toLowerCase() === 'charset') charset ??= value
  }
  return header.slice(at).trim() === '' ? { name: name.toLowerCase(), charset } : undefined
}

function isUtf8(charset: string | undefined): boolean {
  return charset === undefined || /^"?utf-?8"?$/i.test(charset)
}
