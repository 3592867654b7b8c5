import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify'
import { unsupportedMediaType } from '../errors/faults.ts'

/** RFC 9110 section 8.3.1: a type and parameters, which may be quoted. Empty parameters pass. */
const typeName = /^\s*([^\s;]+)/
/** The next parameter. Sticky, so that parsing takes linear time. */
const parameter = /\s*;\s*(?:([^\s;=]+)=("[^"]*"|[^\s;"]*))?/y

/** A longer header is rejected unparsed. */
const maxLength = 1_000

const accepted: Readonly<Record<string, readonly string[]>> = {
  POST: ['application/json'],
  PATCH: ['application/json', 'application/merge-patch+json'],
}

/** The media types of the bodies of an operation; undefined if any may be sent, and is ignored. */
export function bodyTypes(method: string, { form }: FastifyContextConfig) {
  return form ? ['application/x-www-form-urlencoded'] : accepted[method]
}

const withoutCharset: Record<string, string> = {
  'application/json; charset=utf-8': 'application/json',
}

/** Bodies must declare JSON in UTF-8, or a form where that is expected: anything else is a 415 before the body is read. */
export function addMediaTypes(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { config, schema } = request.routeOptions
    const expected = bodyTypes(request.method, config)
    if (schema?.body === undefined || expected === undefined) return done()
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
