import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, test } from 'vitest'

/**
 * The imports of each package, library or feature besides itself; all others are forbidden. The kernel of
 * the server imports no feature, and the files at the top of the server import everything.
 */
const libraries = [
  'client/log',
  'intake',
  'server/async',
  'server/errors.ts',
  'server/intake',
  'server/nearest.ts',
  'server/outbound',
  'server/runtime',
]
const below: Record<string, string[]> = {
  intake: [],
  'client/log': [],
  client: ['client/log'],
  'server/errors.ts': ['server/kernel'],
  'server/nearest.ts': [],
  'server/runtime': [],
  'server/async': [],
  'server/outbound': ['server/runtime'],
  'server/intake': ['intake', 'server/errors.ts', 'server/runtime'],
  'server/tokens': [...libraries, 'server/kernel'],
  'server/config': [...libraries, 'server/kernel'],
  'server/kernel': libraries,
  agents: [
    'client',
    'intake',
    'server/async',
    'server/features/keys',
    'server/kernel',
    'server/runtime',
  ],
}

/** The features that a feature imports, besides projects and keys. */
const neighbors: Record<string, string[]> = {
  'access-rules': ['api-keys'],
  'api-keys': [],
  audit: [],
  events: [],
  health: ['log', 'publishing'],
  imports: [],
  'key-history': ['publishing'],
  'key-uses': ['publishing'],
  keys: [],
  log: ['publishing'],
  projects: [],
  publishing: [],
  'registration-links': ['token-checks'],
  rotations: [],
  search: [],
  'sign-in': ['access-rules', 'api-keys'],
  'token-checks': ['key-history'],
  'token-exchange': ['access-rules', 'api-keys'],
  warnings: ['api-keys', 'rotations'],
}

function mayImport(layer: string, target: string): boolean {
  if (layer === target || layer === 'server' || layer === 'cli') return true
  const [, feature] = layer.split('server/features/')
  if (feature !== undefined) {
    const features = ['projects', 'keys', ...(neighbors[feature] ?? [])]
    return (
      [...libraries, 'server/kernel', 'server/tokens'].includes(target) ||
      features.includes(target.replace('server/features/', ''))
    )
  }
  return below[layer]?.includes(target) === true
}

/** Packages of npm that belong to some files alone. */
const owners: [RegExp, RegExp][] = [
  [
    /^(fastify|@fastify\/.*|@scalar\/.*)$/,
    /^server\/src\/(kernel\/http\/|features\/.*\bhttp\b|(app|server)\.ts)/,
  ],
  [/^prom-client$/, /^server\/src\/(kernel\/http\/|app\.ts)/],
  [/^(node:sqlite|pg)$/, /^(server\/src\/kernel\/storage\/|agents\/src\/lock\.ts$)/],
  [
    /^kysely/,
    /^server\/src\/(kernel\/(storage|ledger)\/|features\/[^/]+\/(reads|apply|census|stored))/,
  ],
  [/^(commander|picocolors|cli-progress|@inquirer\/.*|@bomb\.sh\/.*)$/, /^cli\//],
  [
    /^typebox/,
    /^server\/src\/(kernel\/(contract\.ts|http\/)|features\/[^/]+\/(.*contract|http|http\/.*)\.ts)/,
  ],
  [/^node:process$/, /^(cli|server\/src\/config)\//],
]

interface Manifest {
  name: string
  dependencies?: Record<string, string>
}
const readManifest = (file: string): Manifest => JSON.parse(readFileSync(file, 'utf8'))
const folders = globSync('packages/*')
const manifests = new Map(folders.map((folder) => [folder, readManifest(`${folder}/package.json`)]))

const { resolve } = createRequire(import.meta.url)

/** The file that an import leads to; undefined for packages of npm and modules of Node. */
function targetOf(file: string, name: string): string | undefined {
  if (name.startsWith('.')) return normalize(join(dirname(file), name))
  if (name.startsWith('@pubring/')) return relative('.', resolve(name))
  return undefined
}

/**
 * The package of a file, or its library, the kernel or its feature in the server, or what the client
 * shares; `server` for the files at its top, which compose it.
 */
function layerOf(file: string): string {
  const [, name = '', part = ''] =
    /^packages\/([^/]+)\/src\/(features\/[^/]+|[^/]+)/.exec(file) ?? []
  if (name === 'server') {
    const isTop = part.endsWith('.ts') && !['errors.ts', 'nearest.ts'].includes(part)
    return isTop ? name : `${name}/${part}`
  }
  return `${name}/${part}` === 'client/log' ? `${name}/${part}` : name
}

const files = globSync('packages/*/src/**/*.ts')
/** Examples in comments import what they like. */
const comments = /\/\*[\s\S]*?\*\//g

const importsOf = (file: string) =>
  [
    ...readFileSync(file, 'utf8')
      .replace(comments, '')
      .matchAll(/(?:from|import\() ?'([^'\s]+)'/g),
  ].map(([, name = '']) => name)

const targetsOf = (file: string) =>
  importsOf(file)
    .map((name) => targetOf(file, name))
    .filter((target) => target !== undefined)

test.each(files)('%s imports from its own layer and those below alone', (file) => {
  const layer = layerOf(file)
  for (const name of importsOf(file)) {
    const target = targetOf(file, name)
    if (target !== undefined && !mayImport(layer, layerOf(target))) {
      expect.fail(`${layer} may not import ${name}`)
    }
    for (const [owned, owner] of owners) {
      if (owned.test(name))
        expect(file.replace('packages/', ''), `${name} belongs elsewhere`).toMatch(owner)
    }
  }
  const readsEnvironment = /process\.env/.test(readFileSync(file, 'utf8').replace(comments, ''))
  if (readsEnvironment)
    expect(layer, 'reads the environment').toMatch(/^(agents|cli|server\/config)$/)
})

test.each(Object.entries(neighbors))('%s is in no circle of features', (feature, own) => {
  const reached = new Set(own)
  for (const each of reached) for (const next of neighbors[each] ?? []) reached.add(next)
  expect(reached).not.toContain(feature)
})

/** The paths of resources that do not have the name of their feature. */
const resources: Record<string, string> = {
  events: 'events|history',
  health: 'health|status',
  imports: 'key-imports',
  'key-uses': 'key-uses|verifiers',
  'registration-links': 'registration-links|registration-sessions',
  'sign-in': 'sign-in|sessions|people',
  'token-checks': 'token-checks|key-checks',
  'token-exchange': 'token',
  warnings: 'warnings|project-health',
}
/** All others build on these. */
const foundations = ['keys', 'projects', 'publishing']
const otherFeatures = Object.keys(neighbors).filter((name) => !foundations.includes(name))

test.each(otherFeatures)('at most 12 files outside %s import it or name its path', (feature) => {
  const folder = `packages/server/src/features/${feature}/`
  const path = new RegExp(`/(${resources[feature] ?? feature})(?![\\w.-])`)
  const outside = files.filter((file) => {
    if (!file.startsWith('packages/server/') || file.startsWith(folder)) return false
    const named = path.test(readFileSync(file, 'utf8').replace(/'\.[^']+\.ts'/g, ''))
    return named || targetsOf(file).some((target) => target.startsWith(folder))
  })
  expect(outside.length, outside.join('\n')).toBeLessThanOrEqual(12)
})

describe.each(folders)('%s', (folder) => {
  const { name, dependencies = {} } = manifests.get(folder) ?? {}
  const own = files.filter((file) => file.startsWith(`${folder}/`))

  test('imports files by a path only of its own, and others by their names', () => {
    for (const file of own) {
      for (const each of importsOf(file)) {
        const isOwn = targetOf(file, each)?.startsWith(`${folder}/src/`) === true
        if (each.startsWith('.')) expect(isOwn, `${each} in ${file}`).toBe(true)
        else expect(isOwn, `${each} in ${file}`).toBe(false)
      }
    }
  })

  test('depends on what it imports, in the versions of the whole', () => {
    const installed = own
      .flatMap(importsOf)
      .filter((each) => !/^(\.|node:)/.test(each))
      .map((each) => /^(@[^/]+\/)?[^/]+/.exec(each)?.[0] ?? '')
    const expected = new Set(installed.filter((each) => !developed.has(each)))
    // The logger loads it by its name.
    if (name === '@pubring/server') expected.add('pino-pretty')
    expect(Object.keys(dependencies)).toEqual([...expected].sort())
    for (const [each, version] of Object.entries(dependencies)) {
      expect(version).toBe(each.startsWith('@pubring/') ? '*' : whole.dependencies?.[each])
    }
  })
})

const whole = readManifest('package.json')
/** Imported on demand by what only a checkout does. */
const developed = new Set(['@fastify/swagger'])

test('the published package depends on what its packages depend on', () => {
  const all = [...manifests.values()].flatMap(({ dependencies = {} }) => Object.keys(dependencies))
  const foreign = new Set(all.filter((name) => !name.startsWith('@pubring/')))
  expect(Object.keys(whole.dependencies ?? {})).toEqual([...foreign].sort())
})

test.each(['intake', 'client'])('%s has no dependencies', (name) => {
  expect(readManifest(`packages/${name}/package.json`).dependencies).toBeUndefined()
})

test.each(globSync('console/src/**/*.{ts,tsx}'))(
  '%s imports the client, the readers of secrets and of key services, and lists of algorithms, events and presets alone',
  (file) => {
    for (const target of targetsOf(file)) {
      expect(target).toMatch(
        /^(console\/|packages\/client\/src\/|packages\/intake\/src\/(secrets\/|algorithms\.ts$|formats\/key-service\.ts$)|packages\/server\/src\/features\/(access-rules\/presets|events\/types)\.ts$)/,
      )
    }
  },
)

test.each(
  globSync([
    'packages/client/src/**/*.ts',
    'packages/intake/src/secrets/*.ts',
    'packages/intake/src/formats/key-service.ts',
    'packages/server/src/features/access-rules/presets.ts',
    'packages/server/src/features/events/types.ts',
  ]),
)('%s runs in browsers', (file) => {
  for (const name of importsOf(file)) expect(name).toMatch(/^\./)
  if (file.startsWith('packages/client/')) return
  for (const name of importsOf(file)) expect(name).toMatch(/^\.\/[^/]+$/)
  expect(readFileSync(file, 'utf8').replace(comments, '')).not.toMatch(/\b(Buffer|process)\b/)
})

/** Walls inside the packages: the folders on the right are out of bounds for those on the left. */
const walls: [RegExp, RegExp][] = [
  [
    /^intake\/src\/(encoding|rsa|secrets|codes|blocklists)\//,
    /^intake\/src\/(kinds|examine|index)/,
  ],
  [
    /^server\/src\/(features|kernel\/(?!storage\/))/,
    /^server\/src\/kernel\/storage\/(sqlite\/|postgres\/|copy\.ts)/,
  ],
  [/^server\/src\/kernel\/storage\/sqlite\//, /^server\/src\/kernel\/storage\/postgres\//],
  [/^server\/src\/kernel\/storage\/postgres\//, /^server\/src\/kernel\/storage\/sqlite\//],
  [/^server\/src\/kernel\/http\/(?!routes\/)/, /^server\/src\/kernel\/http\/routes\//],
  [
    /^server\/src\/(kernel\/(?!http\/|feature\.ts)|features\/(?!.*\bhttp\b))/,
    /^server\/src\/kernel\/http\//,
  ],
  [/^cli\/src\/(?!commands\/|program\.ts)/, /^cli\/src\/commands\//],
  [
    /^cli\/src\/(keys|import|admin|tokens|follow)\//,
    /^server\/src\/(kernel\/(storage|http)\/|features\/[^/]+\/(http|apply|reads))/,
  ],
]

test.each(files)('%s stays within the walls of its package', (file) => {
  const path = file.replace('packages/', '')
  for (const [from, beyond] of walls) {
    if (!from.test(path)) continue
    for (const target of targetsOf(file)) {
      expect(target.replace('packages/', ''), `${from} may not import it`).not.toMatch(beyond)
    }
  }
})

test('no folder of the packages but the client has more than 16 files', () => {
  const perFolder = Map.groupBy(
    globSync('packages/{agents,cli,intake,server}/src/**/*.ts'),
    dirname,
  )
  const crowded = [...perFolder].filter(([, found]) => found.length > 16).map(([folder]) => folder)
  expect(crowded).toEqual([])
})

/**
 * Packages of npm that the modules of a thread load, without types. What is imported on demand counts
 * only if it applies the changes of a feature.
 */
function packagesOf(file: string, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>()
  seen.add(file)
  const source = readFileSync(file, 'utf8').replace(comments, '')
  const imports = [
    ...source.matchAll(/^(?:import|export) (?!type )[^'"]*? from '([^']+)'/gm),
    ...source.matchAll(/^ *apply: .*\bimport\('([^']+)'\)/gm),
  ]
  for (const [, name = ''] of imports) {
    const target = targetOf(file, name)
    if (target === undefined) packages.add(name)
    else if (!seen.has(target)) for (const one of packagesOf(target, seen)) packages.add(one)
  }
  return packages
}

/** Modules that each start loads on the main thread, besides the command line. */
const server = [
  'cli/src/server/serve.ts',
  'server/src/app.ts',
  'server/src/kernel/storage/sqlite/store.ts',
  ...globSync('server/src/features/*/http.ts', { cwd: 'packages' }),
]

test.each([
  [['server/src/writer-thread.ts'], ['kysely', 'kysely/migration', 'uuid']],
  [['server/src/intake/worker.ts'], []],
  [
    server,
    [
      '@fastify/helmet',
      '@fastify/under-pressure',
      'fastest-levenshtein',
      'fastify',
      'ip-address',
      'kysely',
      'kysely/migration',
      'lru-cache',
      'sonic-boom',
      'uuid',
    ],
  ],
])('the start of %j, which is waited for, loads only the packages %j', (entries, allowed) => {
  const packages = new Set(entries.flatMap((entry) => [...packagesOf(`packages/${entry}`)]))
  const found = [...packages].filter((name) => !name.startsWith('node:'))
  expect(found.sort()).toEqual(allowed)
})
