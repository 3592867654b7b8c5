import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'

/** What each package, or layer of the server, may import besides itself; all else is forbidden. */
const below: Record<string, string[]> = {
  intake: [],
  'client/log': [],
  client: ['client/log'],
  'server/contract': ['intake'],
  'server/errors.ts': ['server/contract'],
  'server/nearest.ts': [],
  'server/runtime': [],
  'server/async': [],
  'server/outbound': ['server/runtime'],
  'server/intake': ['intake', 'server/errors.ts', 'server/runtime'],
  'server/core': [
    'client/log',
    'intake',
    'server/async',
    'server/contract',
    'server/errors.ts',
    'server/intake',
    'server/outbound',
    'server/runtime',
  ],
  'server/config': ['client/log', 'intake', 'server/core', 'server/nearest.ts', 'server/runtime'],
  'server/storage': [
    'client/log',
    'intake',
    'server/async',
    'server/contract',
    'server/core',
    'server/errors.ts',
    'server/runtime',
  ],
  'server/http': [
    'intake',
    'server/async',
    'server/contract',
    'server/core',
    'server/errors.ts',
    'server/intake',
    'server/nearest.ts',
    'server/runtime',
  ],
  agents: ['client', 'intake', 'server/async', 'server/contract', 'server/core', 'server/runtime'],
  cli: [
    'agents',
    'client',
    'client/log',
    'intake',
    'server/config',
    'server/contract',
    'server/core',
    'server/errors.ts',
    'server/http',
    'server/intake',
    'server/nearest.ts',
    'server/outbound',
    'server/runtime',
    'server/storage',
  ],
}

/** Packages of npm that belong to one layer alone. */
const owners: [RegExp, RegExp][] = [
  [/^(fastify|@fastify\/.*|@scalar\/.*)$/, /^server\/http$/],
  [/^prom-client$/, /^server\/http$/],
  [/^(kysely.*|node:sqlite|pg)$/, /^server\/storage$/],
  [/^(commander|picocolors|cli-progress|@inquirer\/.*|@bomb\.sh\/.*)$/, /^cli$/],
  [/^typebox/, /^server\/(contract|http)$/],
  [/^node:process$/, /^(cli|server\/config)$/],
]

interface Manifest {
  name: string
  exports: Record<string, string>
  dependencies?: Record<string, string>
}
const readManifest = (file: string): Manifest => JSON.parse(readFileSync(file, 'utf8'))
const folders = globSync('packages/*')
const manifests = new Map(folders.map((folder) => [folder, readManifest(`${folder}/package.json`)]))

/** The files that can be imported by a name, each as a pattern with at most one `*`. */
const doors = [...manifests].flatMap(([folder, { name, exports }]) =>
  Object.entries(exports).map(([door, file]) => ({
    name: join(name, door),
    file: join(folder, file),
  })),
)

/** The file that an import leads to; undefined for packages of npm and modules of Node. */
function targetOf(file: string, name: string): string | undefined {
  if (name.startsWith('.')) return normalize(join(dirname(file), name))
  for (const door of doors) {
    const [start = '', end] = door.name.split('*')
    if (door.name === name) return door.file
    if (end === '' && name.startsWith(start))
      return door.file.replace('*', name.slice(start.length))
  }
  return undefined
}

/** The package of a file in `packages`, or the layer in the server, or what the client shares. */
function layerOf(file: string): string {
  const [, name = '', part = ''] = /^packages\/([^/]+)\/src\/([^/]+)/.exec(file) ?? []
  return name === 'server' || `${name}/${part}` === 'client/log' ? `${name}/${part}` : name
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
    if (target !== undefined) {
      expect([layer, ...(below[layer] ?? [])], `${name} from ${layer}`).toContain(layerOf(target))
    }
    for (const [owned, owner] of owners) {
      if (owned.test(name)) expect(layer, `${name} belongs elsewhere`).toMatch(owner)
    }
  }
  const readsEnvironment = /process\.env/.test(readFileSync(file, 'utf8').replace(comments, ''))
  if (readsEnvironment)
    expect(layer, 'reads the environment').toMatch(/^(agents|cli|server\/config)$/)
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
  '%s imports the client, the detector of private keys and the presets alone',
  (file) => {
    for (const target of targetsOf(file)) {
      expect(target).toMatch(
        /^(console\/|packages\/client\/src\/|packages\/intake\/src\/secrets\/|packages\/server\/src\/contract\/access-rules\/presets\.ts$)/,
      )
    }
  },
)

test.each(
  globSync([
    'packages/client/src/**/*.ts',
    'packages/intake/src/secrets/*.ts',
    'packages/server/src/contract/access-rules/presets.ts',
  ]),
)('%s runs in browsers', (file) => {
  for (const name of importsOf(file)) expect(name).toMatch(/^\./)
  if (file.startsWith('packages/client/')) return
  for (const name of importsOf(file)) expect(name).toMatch(/^\.\/[^/]+$/)
  expect(readFileSync(file, 'utf8').replace(comments, '')).not.toMatch(/\b(Buffer|process)\b/)
})

/** Walls inside the packages: the folders on the right are out of bounds for those on the left. */
const walls: [RegExp, RegExp][] = [
  [/^server\/src\/core\/(keys|tokens|ledger|api-keys)\//, /^server\/src\/core\/audit\//],
  [/^server\/src\/core\/publishing\//, /^server\/src\/core\/(audit|tokens|api-keys)\//],
  [
    /^server\/src\/core\/(keys|tokens|audit|ledger)\//,
    /^server\/src\/core\/(publishing|api-keys)\//,
  ],
  [/^server\/src\/core\/tokens\//, /^server\/src\/core\/ledger\//],
  [
    /^intake\/src\/(encoding|rsa|secrets|codes|blocklists)\//,
    /^intake\/src\/(kinds|examine|index)/,
  ],
  [
    /^server\/src\/storage\/(changes|reads|migrations)\//,
    /^server\/src\/storage\/(sqlite|postgres|copy)\//,
  ],
  [/^server\/src\/storage\/sqlite\//, /^server\/src\/storage\/postgres\//],
  [/^server\/src\/storage\/postgres\//, /^server\/src\/storage\/sqlite\//],
  [/^server\/src\/http\/(?!routes\/|app\.ts)/, /^server\/src\/http\/routes\//],
  [/^cli\/src\/(?!commands\/|program\.ts)/, /^cli\/src\/commands\//],
  [/^cli\/src\/(keys|import|admin|tokens|follow)\//, /^server\/src\/(storage|http)\//],
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

test('no folder of the packages but the client has more than 15 files', () => {
  const perFolder = Map.groupBy(
    globSync('packages/{agents,cli,intake,server}/src/**/*.ts'),
    dirname,
  )
  const crowded = [...perFolder].filter(([, found]) => found.length > 15).map(([folder]) => folder)
  expect(crowded).toEqual([])
})

/** Packages of npm that the modules of a thread load, without types and what is imported on demand. */
function packagesOf(file: string, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>()
  seen.add(file)
  const source = readFileSync(file, 'utf8').replace(comments, '')
  const imports = source.matchAll(/^(?:import|export) (?!type )[^'"]*? from '([^']+)'/gm)
  for (const [, name = ''] of imports) {
    const target = targetOf(file, name)
    if (target === undefined) packages.add(name)
    else if (!seen.has(target)) for (const one of packagesOf(target, seen)) packages.add(one)
  }
  return packages
}

/** What each start loads on the main thread, besides the command line. */
const server = [
  'cli/src/server/serve.ts',
  'server/src/http/app.ts',
  'server/src/storage/sqlite/store.ts',
]

test.each([
  [['server/src/storage/sqlite/writer.ts'], ['kysely', 'kysely/migration', 'uuid']],
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
      'piscina',
      'sonic-boom',
      'uuid',
    ],
  ],
])('the start of %j, which is waited for, loads only the packages %j', (entries, allowed) => {
  const packages = new Set(entries.flatMap((entry) => [...packagesOf(`packages/${entry}`)]))
  const found = [...packages].filter((name) => !name.startsWith('node:'))
  expect(found.sort()).toEqual(allowed)
})
