import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text ?? '')
const { folder } = temporaryFolder()

const server = await startServer(folder)
const script = blocks.join('echo "== next block"\n')
const { stdout, stderr } = await promisify(execFile)('sh', ['-eu', '-c', script], {
  cwd: folder,
  env: { PATH: process.env.PATH, PUBRING_URL: server.url, PUBRING_API_KEY: server.apiKey },
})
// curl ends the stream by a time limit.
expect(stderr.replace(/^curl: \(28\) .*\n/m, '')).toBe('')
/** The output of each block. */
const printed = stdout.split('== next block\n')

/** The output of the block that contains this text. */
function answerOf(text: string): string {
  const index = blocks.findIndex((block) => block.includes(text))
  expect(index, text).toBeGreaterThan(-1)
  return printed[index] ?? ''
}

const { paths } = JSON.parse(
  readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
) as { paths: Record<string, Record<string, unknown>> }
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.keys(methods)
    .filter((method) => /^(get|post|patch|delete)$/.test(method))
    .map((method) => [method.toUpperCase(), path] as const),
)

test.each(operations)('%s %s has a curl example', (method, path) => {
  const address = path.replace(/\{\w+\}/g, '[^/?\'" ]+')
  const call = new RegExp(`(api ${method} ['"]?|curl -sS "\\$url)${address}(?=[?'" \\n])`)
  expect(blocks.join('')).toMatch(call)
})

test('only the documented rejections occur', () => {
  const all = printed.join('')
  const codes = [...all.matchAll(/"code":"(\w+)","requestId"/g)]
  expect(codes.map(([, code]) => code)).toEqual([
    'rotation_not_ready',
    'log_stopped',
    'precondition_failed',
    'invalid_request',
  ])
})

test.each([
  ['tee created.json', /^\{"kid":"[0-9a-f-]{36}"\}\n$/],
  ['?active=true', /"label":"orders, spring"[\s\S]*"details":\{/],
  ['dgst -sha256', /\b[0-9a-f]{64}\n$/],
  ['orders, autumn', /"label":"orders, autumn"/],
  ['pubring-end+jwt', /^\{"kid":"[0-9a-f-]{36}","expireTime":"2099-01-01T00:00:00.000Z"\}$/],
  ['key-imports', /"present":1,"items":\[\{"outcome":"present"/],
  ['openid-configuration', /^\{"keys":\[\{[\s\S]*"jwks_uri"/],
  ['/$kid.pem', /^# kid [0-9a-f-]{36}, alg RS256\n(-----BEGIN[^#]*)\1$/],
  [
    'live.json',
    /"active":false[\s\S]*HTTP\/1\.1 200[\s\S]*"kid":"no-active-key"[\s\S]*"active":true/,
  ],
  ['token-checks', /"reason":"kid_missing"/],
  ['/v1/key-checks', /"accepted":true/],
  ['{"name": "billing"}', /"name":"payments"[\s\S]*"name":"billing"/],
  ['/v1/api-keys/self', /"role":"reader"/],
  ['-b cookies.txt', /"consoleUrl":"http[\s\S]*"current":true[\s\S]*\{\}\n?$/],
  ['$rule/checks', /"step":"iss","outcome":"failed"/],
  ['$url/v1/token', /^\{"error":"invalid_request"/],
  ['after=0&limit=2', /"type":"key\.created"/],
  ['text/event-stream', /^id: \d+\.[0-9a-f]{8}\nevent: \S+\ndata: \{/m],
  ['If-Match: $etag', /^\n?304[\s\S]*"label":"orders"[\s\S]*"code":"precondition_failed"/],
  ["grep -i '^link:'", /^link: <http.*>; rel="next"/i],
  ['"nane"', /"code":"unknown_field"/],
  ['/health/ready', /"status":"ok"/],
  ['api DELETE "/v1/projects/default/jwt-keys/$kid"', /\n204\n$/],
])('the block with %s prints the documented output', (text, expected) => {
  expect(answerOf(text)).toMatch(expected)
})

test('the openssl command prints the spkiSha256 of the key', () => {
  const [, digest] = /([0-9a-f]{64})\n$/.exec(answerOf('dgst -sha256')) ?? []
  expect(answerOf('?active=true')).toContain(`"spkiSha256":"${digest}"`)
})
