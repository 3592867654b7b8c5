import { readFileSync } from 'node:fs'
import { expect, expectTypeOf, test } from 'vitest'
import {
  type ClientErrorCode,
  type ClientOptions,
  createClient,
  PubringError,
  type PubringErrorCode,
} from '../../packages/client/src/index.ts'
import type { LogErrorCode } from '../../packages/client/src/log/errors.ts'
import {
  consistencyProof,
  LogError,
  parseVerifierKey,
  verifyCheckpoint,
} from '../../packages/client/src/log/index.ts'
import { formatVerifierKey } from '../../packages/client/src/log/note.ts'
import {
  KeySetError,
  type KeySetErrorCode,
  type KeySetOptions,
  projectKeySet,
} from '../../packages/client/src/verify.ts'
import type { ErrorCode } from '../../packages/server/src/errors.ts'
import { createMemoryLog } from '../support/log/memory-log.ts'
import { type HttpServer, startHttpServer } from '../support/network/http-server.ts'
import { freePort } from '../support/server/process.ts'

const log = await createMemoryLog()
const logKey = formatVerifierKey(log.key)
const keys = [
  { kid: 'known', kty: 'EC', alg: 'ES256' },
  { kid: 'future', kty: 'EC', alg: 'ES9000' },
]
let revision = 9
/** Answers each path in its own way. */
const server: HttpServer = await startHttpServer(({ url = '' }, response) => {
  if (url.includes('/silent/')) return
  if (url.includes('/page/')) return response.end('<html>')
  if (url.endsWith('/token')) {
    const [, status = '400', error = ''] = /(\d+)-(\w+)/.exec(url) ?? []
    return response
      .writeHead(Number(status))
      .end(JSON.stringify({ error, error_description: 'No.' }))
  }
  if (url.includes('/restored/')) response.setHeader('pubring-revision', `${revision--}.0123abcd`)
  if (url.includes('/old/')) response.setHeader('age', '100')
  if (url.includes('/logged/')) response.setHeader('pubring-revision', '1.0123abcd')
  return response.writeHead(url.includes('/gone/') ? 404 : 200).end(JSON.stringify({ keys }))
})

const call = (path: string, options: Partial<ClientOptions> = {}, signal?: AbortSignal) =>
  createClient({ url: `${server.url}/${path}`, retries: 0, ...options }).keys.list(
    'payments',
    signal === undefined ? {} : { signal },
  )
const exchange = (path: string) => call(path, { credentials: () => 'a.b.c' })
const find = async (path: string, header: { kid?: string; alg?: string }, more?: KeySetOptions) => {
  const keys = projectKeySet(`${server.url}/${path}`, { background: false, ...more })
  return keys({ alg: 'ES256', ...header })
}
const id = '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'

// A code without an entry does not compile.
const clientErrors: Record<ClientErrorCode, () => unknown> = {
  unreachable: async () => call('', { url: `http://127.0.0.1:${await freePort()}` }),
  timeout: () => call('silent', { timeout: 50 }),
  aborted: () => call('silent', {}, AbortSignal.timeout(50)),
  unexpected_response: () => call('page'),
  invalid_url: () => call('', { url: 'keys.example.com' }),
  invalid_api_key_text: () => call('', { apiKey: 'two words' }),
  token_unavailable: () => call('', { credentials: () => '' }),
  token_refused: () => exchange('400-invalid_request'),
  temporarily_unavailable: () => exchange('503-temporarily_unavailable'),
  server_error: () => exchange('500-server_error'),
  invalid_path: () => createClient({ url: server.url }).keys.list('..'),
}
const keySetErrors: Record<KeySetErrorCode, () => unknown> = {
  kid_missing: () => find('projects/a', {}),
  kid_unknown: () => find('projects/a', { kid: 'unknown' }),
  algorithm_mismatch: () => find('projects/a', { kid: 'known', alg: 'RS256' }),
  algorithm_unsupported: () => find('projects/a', { kid: 'future', alg: 'ES9000' }),
  key_set_stale: () => find('old/projects/a', { kid: 'known' }),
  key_set_disproved: () => find(`projects/${id}`, { kid: 'known' }, { log: { key: logKey } }),
  key_set_unproven: () => find(`logged/projects/${id}`, { kid: 'known' }, { log: { key: logKey } }),
  key_set_history_changed: async () => {
    const keys = projectKeySet(`${server.url}/restored/projects/a`, {
      background: false,
      coolDown: 0,
    })
    await keys.ready()
    await keys.ready()
    throw keys.state().error
  },
  key_set_unavailable: () => find('gone/projects/a', { kid: 'known' }),
  invalid_address: () => projectKeySet('keys.example.com'),
  invalid_option: () => projectKeySet(`${server.url}/projects/a`, { maxStale: 1 }),
}
const logErrors: Record<LogErrorCode, () => unknown> = {
  malformed: () => parseVerifierKey('none'),
  untrusted: async () => {
    const [log, other] = [await createMemoryLog(), await createMemoryLog()]
    return verifyCheckpoint(await log.checkpoint(), { log: other.key })
  },
  disproved: () => consistencyProof(4, 3, async () => new Uint8Array(32)),
}

const readme = readFileSync(new URL('../../packages/client/README.md', import.meta.url), 'utf8')
/** The codes in the first column of the tables below a heading of the README. */
const documented = (heading: string) => {
  const [, section = ''] = readme.split(`\n### ${heading}\n`)
  const [table = ''] = section.split(/\n#/)
  return [...table.matchAll(/^\| (`\w+`(?:, `\w+`)*) \|/gm)]
    .slice(1)
    .flatMap(([, codes = '']) => codes.replaceAll('`', '').split(', '))
    .sort()
}

const classes = [
  { name: 'PubringError', type: PubringError, errors: clientErrors },
  { name: 'KeySetError', type: KeySetError, errors: keySetErrors },
  { name: 'LogError', type: LogError, errors: logErrors },
]
const cases = classes.flatMap(({ name, type, errors }) =>
  Object.entries(errors).map(([code, provoke]) => ({ name, type, code, provoke })),
)

test.each(cases)('$name $code', async ({ type, code, provoke }) => {
  const error = await Promise.resolve()
    .then(provoke)
    .catch((reason) => reason)
  expect(error).toBeInstanceOf(type)
  expect(error).toMatchObject({ code, message: expect.stringMatching(/./) })
})

test.each(classes)('the README lists the codes of $name', ({ name, errors }) => {
  expect(documented(name)).toEqual(Object.keys(errors).sort())
})

test('the code of a PubringError is one of the client or of the service', () => {
  expectTypeOf<PubringError['code']>().toEqualTypeOf<PubringErrorCode>()
  expectTypeOf<PubringErrorCode>().toEqualTypeOf<ClientErrorCode | ErrorCode>()
})
