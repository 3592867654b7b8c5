import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../packages/server/src/config/server-settings.ts'
import { serverUrl } from '../../packages/server/src/config/values.ts'

const config = (name: string, value: string) => loadConfig({ [`PUBRING_${name}`]: value })

describe('PUBRING_ALGORITHMS', () => {
  test('is a list of JWS algorithms; all by default', () => {
    expect(config('ALGORITHMS', ' PS256, RS256,PS256').algorithms).toEqual(['RS256', 'PS256'])
    expect(loadConfig({}).algorithms).toHaveLength(14)
  })

  test.each(['', 'RSA', 'rs256', 'RS256,', 'HS256', 'none'])('%j is rejected', (text) => {
    expect(() => config('ALGORITHMS', text)).toThrow(/^PUBRING_ALGORITHMS must be names /)
  })
})

describe('PUBRING_RETURN_ORIGINS', () => {
  test('is a list of origins; none by default', () => {
    const origins = ['https://platform.example.com', 'http://localhost:3000']
    expect(config('RETURN_ORIGINS', `${origins[0]}/, ${origins[1]}`).returnOrigins).toEqual(origins)
    expect(loadConfig({}).returnOrigins).toEqual([])
  })

  test.each(['*', 'platform.example.com', 'https://a.example/b', 'https://u@a.example', 'null'])(
    '%j is rejected',
    (text) => {
      expect(() => config('RETURN_ORIGINS', text)).toThrow(
        /^PUBRING_RETURN_ORIGINS must be origins /,
      )
    },
  )
})

describe('PUBRING_RATE_LIMIT and PUBRING_PUBLIC_RATE_LIMIT', () => {
  test.each([
    ['600', { limit: 600, window: 60 }],
    ['600/m', { limit: 600, window: 60 }],
    [' 10/s ', { limit: 10, window: 1 }],
    ['20000 / h', { limit: 20_000, window: 3_600 }],
    ['off', undefined],
    ['OFF', undefined],
  ])('%j', (text, rate) => {
    expect(config('RATE_LIMIT', text).rateLimit).toEqual(rate)
    expect(config('PUBLIC_RATE_LIMIT', text).publicRateLimit).toEqual(rate)
  })

  test('are off by default', () => {
    expect(loadConfig({}).rateLimit).toBeUndefined()
    expect(loadConfig({}).publicRateLimit).toBeUndefined()
  })

  test.each(['0', '-1', '1.5', '10/d', '10/', '/s', '10 per minute', '', 'false', '1e3'])(
    '%j is rejected, and the error states the rule',
    (text) => {
      expect(() => config('RATE_LIMIT', text)).toThrow(/^PUBRING_RATE_LIMIT must be off or /)
    },
  )
})

describe('PUBRING_TRUST_PROXY', () => {
  test.each([
    ['true', true],
    ['False', false],
    ['10.0.0.1', ['10.0.0.1']],
    ['10.0.0.0/8, ::1,2001:DB8::/32', ['10.0.0.0/8', '::1', '2001:db8::/32']],
  ])('%j', (text, proxies) => {
    expect(config('TRUST_PROXY', text).trustProxy).toEqual(proxies)
  })

  test.each([
    '1',
    'yes',
    'true,10.0.0.1',
    '10.0.0.0/33',
    '10.0.0.0/0',
    '::/129',
    '10.0.0.0/8/8',
    'x',
    '',
  ])('%j is rejected: it would trust more or less than it says', (text) => {
    expect(() => config('TRUST_PROXY', text)).toThrow(/^PUBRING_TRUST_PROXY must be /)
  })
})

describe('PUBRING_METRICS_PORT', () => {
  test.each([
    ['9464', '127.0.0.1', 9464],
    [' 0.0.0.0:9464', '0.0.0.0', 9464],
    ['[::]:1', '::', 1],
    ['metrics.internal:65535', 'metrics.internal', 65_535],
  ])('%j', (text, host, port) => {
    expect(config('METRICS_PORT', text).metricsPort).toEqual({ host, port })
  })

  test.each(['', '0', '65536', ':9464', '::1:9464', '127.0.0.1', 'a b:1', '1:2:3'])(
    '%j is rejected',
    (text) => {
      expect(() => config('METRICS_PORT', text)).toThrow(/^PUBRING_METRICS_PORT must be PORT or /)
    },
  )
})

describe('PUBRING_LOG_WITNESSES', () => {
  const [one, two] = [
    'witness.example/15+789b5284+BBWo0GeqCRhpUrrvUtGv+f9WwugxLOUXTECSqym0ZH75',
    'witness.example/20+570d48d2+BABfn5c+sTzpmxRahO+gzYvgSdy0IeGGSRMB65fT3rep',
  ]

  test('has the verifier key and the address of each; none by default', () => {
    expect(loadConfig({}).logWitnesses).toEqual([])
    const text = `${one} https://w1.example/,\n ${two} https://w2.example/path`
    expect(config('LOG_WITNESSES', text).logWitnesses).toMatchObject([
      { key: { name: 'witness.example/15', id: '789b5284' }, url: 'https://w1.example' },
      { key: { name: 'witness.example/20', id: '570d48d2' }, url: 'https://w2.example/path' },
    ])
  })

  test.each([
    ['no address', one],
    ['no key', 'https://w1.example'],
    ['an address without TLS', `${one} http://w1.example`],
    ['the address first', `https://w1.example ${one}`],
    ['a key with another id', `${one.replace('789b', '789c')} https://w1.example`],
    [
      'the key of a log',
      'example.com/log+357c4044+AYRYwBpGnz1ZYAf8agn56zGMkMm7jKdeixboImaOQDlW https://w',
    ],
    ['an address with a password', `${one} https://user:secret@w1.example`],
  ])('with %s is rejected', (_name, text) => {
    expect(() => config('LOG_WITNESSES', text)).toThrow(/^PUBRING_LOG_WITNESSES must be [^@]+\.$/)
  })
})

test.each([
  ['PUBRING_SERVICE_HOST', '10.96.0.7'],
  ['PUBRING_SERVICE_PORT_HTTP', '80'],
  ['PUBRING_PORT', 'tcp://10.96.0.7:80'],
  ['PUBRING_PORT_80_TCP_ADDR', '10.96.0.7'],
])('%s=%s is a link of Kubernetes, which is named with what to set', (name, value) => {
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
])('PUBRING_DATABASE_URL=%s is refused with what to write', (url, advice) => {
  expect(() => loadConfig({ PUBRING_DATABASE_URL: url })).toThrow(advice)
})

test.each(['/docs/pubring', '/console/keys', '/a/docs/b'])(
  'the address of a server may have the path %s',
  (path) => {
    expect(serverUrl(`https://intranet.example${path}/`)).toBe(`https://intranet.example${path}`)
    for (const page of ['/console', '/console/#/projects', '/docs/', '/docs/errors#not_found']) {
      expect(() => serverUrl(`https://intranet.example${path}${page}`)).toThrow(
        'leave out /console',
      )
    }
  },
)

test('an absolute path may stand behind sqlite:///', () => {
  const { databaseUrl } = loadConfig({ PUBRING_DATABASE_URL: 'sqlite:///data/pubring.db' })
  expect(databaseUrl).toBe('sqlite:///data/pubring.db')
})

describe('requests to other servers', () => {
  test('PUBRING_OUTBOUND_ALLOW is a list of hosts; empty by default', () => {
    expect(loadConfig({}).outboundAllow).toEqual([])
    expect(config('OUTBOUND_ALLOW', 'Issuer.internal, 10.0.0.7,[fd00::1]').outboundAllow).toEqual([
      'issuer.internal',
      '10.0.0.7',
      '[fd00::1]',
    ])
  })

  test.each(['https://a', 'a:8443', 'a,', 'a b', 'user@a'])('%j is no list of hosts', (text) => {
    expect(() => config('OUTBOUND_ALLOW', text)).toThrow(/^PUBRING_OUTBOUND_ALLOW must be names /)
  })

  test.each(['*.internal', '*', 'a.test,*.internal/'])('%j never matches a host', (text) => {
    expect(() => config('OUTBOUND_ALLOW', text)).toThrow(
      /^PUBRING_OUTBOUND_ALLOW must list each host by its whole name: a \* stands for nothing here\.$/,
    )
  })

  test('PUBRING_OUTBOUND_PROXY is the address of a proxy, which errors do not repeat', () => {
    const url = 'http://user:secret@proxy.internal:3128'
    expect(config('OUTBOUND_PROXY', url).outboundProxy).toBe(url)
    for (const text of ['proxy:3128', 'socks5://proxy', `${url}/path?secret`]) {
      expect(() => config('OUTBOUND_PROXY', text)).toThrow(/^PUBRING_OUTBOUND_PROXY must be [^\s]+/)
      expect(() => config('OUTBOUND_PROXY', text)).not.toThrow(/secret/)
    }
  })

  test('PUBRING_OUTBOUND_CA_FILE names a file of certificates', () => {
    const read = (file: string) => config('OUTBOUND_CA_FILE', file).outboundCaFile
    expect(() => read('/dev/null')).toThrow(/names a file without certificates in PEM/)
    expect(() => read('package.json')).toThrow(/names a file without certificates in PEM/)
    expect(() => read('missing.pem')).toThrow(/^PUBRING_OUTBOUND_CA_FILE names a file that /)
  })
})
