import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

/** What each layer may import besides itself; all else is forbidden. */
const below: Record<string, string[]> = {
  'errors.ts': ['contract'],
  'nearest.ts': [],
  'client/src/log': [],
  client: ['client/src/log'],
  contract: [],
  runtime: [],
  intake: ['async', 'contract', 'errors.ts', 'runtime'],
  async: [],
  outbound: ['runtime'],
  core: ['contract', 'errors.ts', 'intake', 'outbound', 'runtime', 'async', 'client/src/log'],
  config: ['contract', 'core', 'nearest.ts', 'runtime', 'client/src/log'],
  storage: ['async', 'core', 'contract', 'errors.ts', 'intake', 'runtime', 'client/src/log'],
  http: [
    'async',
    'core',
    'contract',
    'errors.ts',
    'intake',
    'nearest.ts',
    'runtime',
    'client/src/log',
  ],
  cli: [
    'async',
    'http',
    'intake',
    'nearest.ts',
    'outbound',
    'runtime',
    'storage',
    'core',
    'contract',
    'errors.ts',
    'config',
    'client',
    'client/src/log',
  ],
  'main.ts': ['cli'],
}

/** Packages that belong to one layer alone. */
const owners: [RegExp, RegExp][] = [
  [/^(fastify|@fastify\/.*|@scalar\/.*)$/, /^http$/],
  [/^prom-client$/, /^http$/],
  [/^(kysely.*|node:sqlite|pg)$/, /^storage$/],
  [/^(commander|picocolors|cli-progress|@inquirer\/.*|@bomb\.sh\/.*)$/, /^(cli|main\.ts)$/],
  [/^typebox/, /^(contract|http)$/],
  [/^node:process$/, /^(cli|main\.ts|config)$/],
]

/** `src/LAYER/…`; the client stands beside `src` and is one layer, but for what it shares with `src`. */
const layerOf = (file: string) => /^(?:src\/)?(client\/src\/log|[^/]+)/.exec(file)?.[1] ?? ''
const files = globSync(['src/**/*.ts', 'client/src/**/*.ts'])
/** Examples in comments import what they like. */
const comments = /\/\*[\s\S]*?\*\//g

test.each(files)('%s imports from its own layer and those below alone', (file) => {
  const layer = layerOf(file)
  const source = readFileSync(file, 'utf8').replace(comments, '')
  const imports = [...source.matchAll(/(?:from|import\() ?'([^']+)'/g)].map(
    ([, name]) => name ?? '',
  )
  for (const name of imports) {
    if (name.startsWith('.')) {
      const target = layerOf(normalize(join(dirname(file), name)))
      expect([layer, ...(below[layer] ?? [])], `${name} from ${layer}`).toContain(target)
    }
    // The client runs in browsers, Deno and Bun too, and has no dependencies.
    if (layer.startsWith('client')) expect(name).toMatch(/^\./)
    for (const [owned, owner] of owners) {
      if (owned.test(name)) expect(layer, `${name} belongs elsewhere`).toMatch(owner)
    }
  }
  const readsEnvironment = /process\.env/.test(source) && !/^(cli|config|main\.ts)$/.test(layer)
  expect(readsEnvironment, 'reads the environment').toBe(false)
})

const importsOf = (file: string) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import\() ?'([^']+)'/g)].map(
    ([, name = '']) => name,
  )

test.each(globSync('console/src/**/*.{ts,tsx}'))(
  '%s imports of src only the detector of private keys and the presets',
  (file) => {
    for (const name of importsOf(file).filter((path) => path.startsWith('.'))) {
      expect(normalize(join(dirname(file), name))).toMatch(
        /^(console\/|client\/src\/|src\/intake\/secrets\/|src\/contract\/access-rules\/presets\.ts$)/,
      )
    }
  },
)

test.each(globSync(['src/intake/secrets/*.ts', 'src/contract/access-rules/presets.ts']))(
  '%s runs in browsers',
  (file) => {
    for (const name of importsOf(file)) expect(name).toMatch(/^\.\/[^/]+$/)
    expect(readFileSync(file, 'utf8').replace(comments, '')).not.toMatch(/\b(Buffer|process)\b/)
  },
)

/** Walls inside the layers: the folders on the right are out of bounds for those on the left. */
const walls: [RegExp, RegExp][] = [
  [/^src\/core\/(keys|tokens|ledger|api-keys)\//, /^src\/core\/audit\//],
  [/^src\/core\/publishing\//, /^src\/core\/(audit|tokens|api-keys)\//],
  [/^src\/core\/(keys|tokens|audit|ledger)\//, /^src\/core\/(publishing|api-keys)\//],
  [/^src\/core\/tokens\//, /^src\/core\/ledger\//],
  [
    /^src\/intake\/(encoding|rsa|secrets|codes|blocklists)\//,
    /^src\/intake\/(kinds|threads|index)/,
  ],
  [/^src\/intake\/(?!threads\/)/, /^src\/intake\/threads\//],
  [/^src\/storage\/(changes|reads|migrations)\//, /^src\/storage\/(sqlite|postgres|copy)\//],
  [/^src\/storage\/sqlite\//, /^src\/storage\/postgres\//],
  [/^src\/storage\/postgres\//, /^src\/storage\/sqlite\//],
  [/^src\/http\/(?!routes\/|app\.ts)/, /^src\/http\/routes\//],
  [/^src\/cli\/(?!commands\/|program\.ts)/, /^src\/cli\/commands\//],
  [/^src\/cli\/(keys|import|admin|tokens)\//, /^src\/(storage|http)\//],
]

test.each(files)('%s stays within the walls of its layer', (file) => {
  const targets = importsOf(file)
    .filter((name) => name.startsWith('.'))
    .map((name) => normalize(join(dirname(file), name)))
  for (const [from, beyond] of walls) {
    if (!from.test(file)) continue
    for (const target of targets) expect(target, `${from} may not import it`).not.toMatch(beyond)
  }
})

test('no folder of src has more than 15 files', () => {
  const perFolder = Map.groupBy(globSync('src/**/*.ts'), dirname)
  const crowded = [...perFolder].filter(([, found]) => found.length > 15).map(([folder]) => folder)
  expect(crowded).toEqual([])
})

/** Packages that the modules of a thread load, without types and what is imported on demand. */
function packagesOf(file: string, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>()
  seen.add(file)
  const source = readFileSync(file, 'utf8').replace(comments, '')
  const imports = source.matchAll(/^import (?!type )[^'"]* from '([^']+)'/gm)
  for (const [, name = ''] of imports) {
    const target = normalize(join(dirname(file), name))
    if (!name.startsWith('.')) packages.add(name)
    else if (!seen.has(target)) for (const one of packagesOf(target, seen)) packages.add(one)
  }
  return packages
}

/** What each start loads on the main thread, besides the command line. */
const server = ['cli/server/serve.ts', 'http/app.ts', 'storage/sqlite/store.ts']

test.each([
  [['storage/sqlite/writer.ts'], ['kysely', 'kysely/migration', 'uuid']],
  [['intake/threads/worker.ts'], []],
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
  const packages = new Set(entries.flatMap((entry) => [...packagesOf(`src/${entry}`)]))
  const found = [...packages].filter((name) => !name.startsWith('node:'))
  expect(found.sort()).toEqual(allowed)
})
