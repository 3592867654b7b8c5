import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { formats, templateProblem } from '../../../packages/agents/src/follow/formats.ts'
import { fileNameOf } from '../../../packages/agents/src/follow/published-keys.ts'
import { jwkOf, publishedKeys } from '../../support/keys/published.ts'

const published = (kids: readonly unknown[], project = 'p') =>
  publishedKeys(
    kids.map((kid) => jwkOf(kid)),
    { project },
  )

const options = { out: '/run/keys', projectCount: 1, template: '', algorithms: [] }
const render = (name: string, kids: readonly unknown[], template = '') =>
  formats[name]?.([published(kids)], { ...options, template }) ?? { keyFiles: [], files: [] }

/** Texts that mean something to a shell, a path, or one of the formats. */
const hostile = [
  '../x',
  '..',
  '/etc/passwd',
  'a/b',
  '.hidden',
  `it's "quoted"`,
  '{{jwks}}',
  '} { deny',
  '-i',
  '$(reboot)`x`',
  '\\" \\',
  '%2e%2e',
  '</script>',
  'x'.repeat(255),
]

test.each(hostile)('a key file for the kid %j stays in its folder', (kid) => {
  for (const format of ['pem-dir', 'haproxy']) {
    const [file] = render(format, [kid]).keyFiles
    const folder = format === 'haproxy' ? '/run/keys.d' : '/run/keys'
    expect(file?.path).toMatch(new RegExp(`^${folder}/[A-Za-z0-9%_-][A-Za-z0-9%._-]*\\.pem$`))
    expect(file?.content).toMatch(/^-----BEGIN PUBLIC KEY-----\n/)
  }
})

test('different kids have different files', () => {
  const kids = [...hostile, 'x', '%2E%2E%2Fx', `${'x'.repeat(254)}y`]
  expect(new Set(kids.map(fileNameOf)).size).toBe(kids.length)
})

test('HAProxy gets each kid as one quoted word', () => {
  const [file] = render('haproxy', hostile).files
  const rules = file?.content.split('\n').filter((line) => line.includes('pubring_verified')) ?? []
  // One is in the comment at the top.
  expect(rules).toHaveLength(hostile.length + 1)
  expect(file?.content).toContain(`-m str -- 'it'"'"'s "quoted"' }`)
  expect(file?.content).toContain(`-m str -- '} { deny' }`)
})

test('a template gets the JWKS as the content of a quoted string', () => {
  const [file] = render(
    'envoy-lds',
    hostile,
    '{"inline": "{{jwks}}", "again": "{{ jwks p }}"}',
  ).files
  const filled = JSON.parse(file?.content ?? '')
  expect(JSON.parse(filled.inline).keys.map(({ kid }: { kid: string }) => kid)).toEqual(hostile)
  expect(filled.again).toBe(filled.inline)
})

test('a template without a key gets the placeholder, the other formats nothing', () => {
  const [file] = render('envoy-lds', [], '"{{jwks}}"').files
  expect(JSON.parse(JSON.parse(file?.content ?? '')).keys).toMatchObject([{ kid: 'no-active-key' }])
  const only = ['no-active-key']
  expect(JSON.parse(render('jwks', only).files[0]?.content ?? '')).toEqual({ keys: [] })
  expect(render('pem-dir', only).keyFiles).toEqual([])
  expect(render('haproxy', only).files[0]?.content).not.toContain('jwt_verify')
})

test('njs gets a module that lists the keys, without the built-ins that njs lacks', () => {
  const [file] = render('nginx', hostile).files
  const expression = file?.content.replace('export default', '') ?? ''
  const keys = runInNewContext(expression, { Map: undefined, Set: undefined })
  expect(keys.map(({ kid }: { kid: string }) => kid)).toEqual(hostile)
  const entry = { issuer: 'https://keys.example/v1/projects/p', kid: '..', alg: 'ES256' }
  expect(keys[1]).toMatchObject(entry)
})

test('no text of the server can end a line of the module for njs', () => {
  const discovery = { issuer: 'https://keys.example/\u2028\u2029é"' }
  const set = { ...published(['k']), discovery }
  const [file] = formats.nginx?.([set], options).files ?? []
  expect(file?.content).toMatch(/^[\n\x20-\x7e]+$/)
  expect(file?.content).toContain(String.raw`\u2028\u2029\u00e9\"`)
})

test('what is no public key of Pubring is left out', () => {
  const { fullJwks } = published(['good', 'line\nbreak', 'é', '', 7, undefined, 'x'.repeat(256)])
  expect(fullJwks.map(({ kid }) => kid)).toEqual(['good'])
  const others = publishedKeys([
    { kty: 'oct', kid: 'a', alg: 'HS256', k: 'AAAA' },
    { ...jwkOf('b'), d: 'secret', x5u: 'http://evil.example' },
    jwkOf('c', 'none'),
    null,
    'text',
  ])
  expect(others.jwks.map(({ jwk }) => Object.keys(jwk).sort())).toEqual([
    ['alg', 'crv', 'kid', 'kty', 'x', 'y'],
  ])
})

test('--algorithm selects keys, and ML-DSA keys only by name', () => {
  const pq = { kty: 'AKP', kid: 'pq', alg: 'ML-DSA-44', pub: 'AAAA' }
  const both = publishedKeys([jwkOf('es')], { fullKeys: [jwkOf('es'), pq] })
  const kids = (algorithms: string[]) =>
    JSON.parse(formats.jwks?.([both], { ...options, algorithms }).files[0]?.content ?? '').keys.map(
      ({ kid }: { kid: string }) => kid,
    )
  expect(kids([])).toEqual(['es'])
  expect(kids(['RS256'])).toEqual([])
  expect(kids(['ES256', 'ML-DSA-44'])).toEqual(['es', 'pq'])
})

test('several projects have files of their own', () => {
  const several = { ...options, projectCount: 2 }
  const sets = [published(['a'], 'one'), published(['a'], '../two')]
  expect(formats.jwks?.(sets, several).files.map(({ path }) => path)).toEqual([
    '/run/keys/one.json',
    '/run/keys/%2E.%2Ftwo.json',
  ])
  const pems = formats['pem-dir']?.(sets, several).keyFiles.map(({ path }) => path)
  expect(pems).toEqual(['/run/keys/one/a.pem', '/run/keys/%2E.%2Ftwo/a.pem'])
})

test.each([
  ['no marker', ['p'], /has no \{\{jwks\}\}/],
  ['{{jwks other}}', ['p'], /names none of the projects p/],
  ['{{jwks}}', ['p', 'q'], /names none of the projects p, q/],
  ['{{jwks q}} {{jwks p}}', ['p', 'q'], /^$/],
])('the template %j for %j', (template, projects, problem) => {
  expect(templateProblem(template, projects) ?? '').toMatch(problem)
})
