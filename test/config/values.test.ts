import { describe, expect, test } from 'vitest'
import { type Config, loadConfig } from '../../packages/server/src/config/server-settings.ts'
import { serverUrl } from '../../packages/server/src/config/values.ts'

const load = (variable: string, text: string) => loadConfig({ [`PUBRING_${variable}`]: text })
const perMinute = { limit: 600, window: 60 }

test.each<[variable: string, text: string, setting: keyof Config, value: unknown]>([
  ['ALGORITHMS', ' PS256, RS256,PS256', 'algorithms', ['RS256', 'PS256']],
  [
    'RETURN_ORIGINS',
    'https://a.example.com/, http://localhost:3000',
    'returnOrigins',
    ['https://a.example.com', 'http://localhost:3000'],
  ],
  ['RATE_LIMIT', '600', 'rateLimit', perMinute],
  ['PUBLIC_RATE_LIMIT', '600/m', 'publicRateLimit', perMinute],
  ['RATE_LIMIT', ' 10/s ', 'rateLimit', { limit: 10, window: 1 }],
  ['RATE_LIMIT', '20000 / h', 'rateLimit', { limit: 20_000, window: 3_600 }],
  ['RATE_LIMIT', 'OFF', 'rateLimit', undefined],
  ['TRUST_PROXY', 'true', 'trustProxy', true],
  ['TRUST_PROXY', 'False', 'trustProxy', false],
  [
    'TRUST_PROXY',
    '10.0.0.0/8, ::1,2001:DB8::/32',
    'trustProxy',
    ['10.0.0.0/8', '::1', '2001:db8::/32'],
  ],
  ['METRICS_PORT', '9464', 'metricsPort', { host: '127.0.0.1', port: 9464 }],
  ['METRICS_PORT', ' 0.0.0.0:9464', 'metricsPort', { host: '0.0.0.0', port: 9464 }],
  ['METRICS_PORT', '[::]:1', 'metricsPort', { host: '::', port: 1 }],
  ['METRICS_PORT', 'a.internal:65535', 'metricsPort', { host: 'a.internal', port: 65_535 }],
  ['DATABASE_URL', 'sqlite:///data/p.db', 'databaseUrl', 'sqlite:///data/p.db'],
  [
    'OUTBOUND_ALLOW',
    'Issuer.internal, 10.0.0.7,[fd00::1]',
    'outboundAllow',
    ['issuer.internal', '10.0.0.7', '[fd00::1]'],
  ],
  ['OUTBOUND_PROXY', 'http://user:secret@p:3128', 'outboundProxy', 'http://user:secret@p:3128'],
])('PUBRING_%s=%s', (variable, text, setting, value) => {
  expect(load(variable, text)[setting]).toEqual(value)
})

test('what is not set has a safe default', () => {
  const { algorithms, ...others } = loadConfig({})
  expect(algorithms).toHaveLength(14)
  expect(others).toMatchObject({ returnOrigins: [], logWitnesses: [], outboundAllow: [] })
  expect([others.rateLimit, others.publicRateLimit]).toEqual([undefined, undefined])
})

const witness = 'witness.example/15+789b5284+BBWo0GeqCRhpUrrvUtGv+f9WwugxLOUXTECSqym0ZH75'
const log = 'example.com/log+357c4044+AYRYwBpGnz1ZYAf8agn56zGMkMm7jKdeixboImaOQDlW'

test('PUBRING_LOG_WITNESSES has the verifier key and the address of each', () => {
  const other = 'witness.example/20+570d48d2+BABfn5c+sTzpmxRahO+gzYvgSdy0IeGGSRMB65fT3rep'
  const text = `${witness} https://w1.example/,\n ${other} https://w2.example/path`
  expect(load('LOG_WITNESSES', text).logWitnesses).toMatchObject([
    { key: { name: 'witness.example/15', id: '789b5284' }, url: 'https://w1.example' },
    { key: { name: 'witness.example/20', id: '570d48d2' }, url: 'https://w2.example/path' },
  ])
})

/** Each error states the rule, and repeats no value. */
test.each<[variable: string, rule: string, texts: string[]]>([
  ['ALGORITHMS', 'must be names', ['', 'RSA', 'rs256', 'RS256,', 'HS256', 'none']],
  ['RETURN_ORIGINS', 'must be origins', ['*', 'a.example', 'https://a/b', 'https://u@a', 'null']],
  ['RATE_LIMIT', 'must be off or', ['0', '-1', '1.5', '10/d', '10/', '/s', '', 'false', '1e3']],
  [
    'TRUST_PROXY',
    'must be',
    ['1', 'yes', 'true,10.0.0.1', '10.0.0.0/33', '10.0.0.0/0', '::/129', '10.0.0.0/8/8', 'x', ''],
  ],
  [
    'METRICS_PORT',
    'must be PORT or',
    ['', '0', '65536', ':9464', '::1:9464', '127.0.0.1', 'a b:1', '1:2:3'],
  ],
  [
    'LOG_WITNESSES',
    'must be verifier keys',
    [
      witness,
      'https://w1.example',
      `${witness} http://w1.example`,
      `https://w1.example ${witness}`,
      `${witness.replace('789b', '789c')} https://w1.example`,
      `${log} https://w`,
    ],
  ],
  ['LOG_WITNESSES', 'must be an http', [`${witness} https://user:secret@w1.example`]],
  ['OUTBOUND_ALLOW', 'must be names', ['https://a', 'a:8443', 'a,', 'a b', 'user@a']],
  ['OUTBOUND_ALLOW', 'must list each host', ['*.internal', '*', 'a.test,*.internal/']],
  [
    'OUTBOUND_PROXY',
    'must be the address',
    ['proxy:3128', 'socks5://proxy', 'http://user:secret@proxy/path'],
  ],
  ['OUTBOUND_CA_FILE', 'names a file without certificates', ['/dev/null', 'package.json']],
  ['OUTBOUND_CA_FILE', 'names a file that', ['missing.pem']],
])('PUBRING_%s %s …', (variable, rule, texts) => {
  for (const text of texts) {
    expect(() => load(variable, text), text).toThrow(`PUBRING_${variable} ${rule}`)
    expect(() => load(variable, text), text).not.toThrow(/secret/)
  }
})

describe('with what to do', () => {
  test.each([
    ['PUBRING_SERVICE_HOST', '10.96.0.7'],
    ['PUBRING_SERVICE_PORT_HTTP', '80'],
    ['PUBRING_PORT', 'tcp://10.96.0.7:80'],
    ['PUBRING_PORT_80_TCP_ADDR', '10.96.0.7'],
  ])('%s=%s is refused as a link of Kubernetes', (name, value) => {
    expect(() => loadConfig({ [name]: value })).toThrow(
      `${name} is a link that Kubernetes sets for a Service called pubring. Set enableServiceLinks: false`,
    )
  })

  test.each([
    ['mysql://user@host/db', 'no other database is supported'],
    ['mongodb+srv://host/db', 'no other database is supported'],
    ['jdbc:postgresql://host/db', 'leave out jdbc:'],
    ['postgresql+psycopg2://host/db', 'without the name of a driver'],
    ['file:pubring.db', 'write sqlite: before a path'],
    ['./data/pubring.db', 'write sqlite: before a path'],
    ['pubring.db', 'write sqlite: before a path'],
    ['sqlite://pubring.db', 'write the path directly after sqlite:'],
  ])('PUBRING_DATABASE_URL=%s is refused', (url, advice) => {
    expect(() => load('DATABASE_URL', url)).toThrow(advice)
  })

  test.each(['/docs/pubring', '/a/docs/b'])('pages of a server at %s are refused', (path) => {
    expect(serverUrl(`https://intranet.example${path}/`)).toBe(`https://intranet.example${path}`)
    for (const page of ['/console', '/console/#/projects', '/docs/', '/docs/errors#not_found']) {
      const url = `https://intranet.example${path}${page}`
      expect(() => serverUrl(url)).toThrow('leave out /console')
    }
  })
})
