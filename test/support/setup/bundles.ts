import { globSync, statSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { TestProject } from 'vitest/node'

const root = new URL('../../../', import.meta.url)
const folder = new URL('node_modules/.cache/test-bundles/', root)

const packages = ['kysely', 'kysely/migration', 'uuid']
/** Every store on SQLite starts it, with a hundred modules. */
const writer = new URL('packages/server/src/writer-thread.ts', root)

/** Every server under test starts it, with three hundred modules besides those of packages. */
const main = new URL('packages/cli/src/main.ts', root)

const nameOf = (specifier: string) => specifier.replace('/', '-')
const fileOf = (name: string) => new URL(`${name}.mjs`, folder)

/** The bundles that threads and servers load, by what they are imported as. */
export const bundleOf = new Map([
  ...packages.map((name) => [name, fileOf(nameOf(name))] as const),
  [writer.href, fileOf('writer')],
  [main.href, fileOf('main')],
])

const modified = (url: URL) => statSync(url, { throwIfNoEntry: false })?.mtimeMs ?? 0
const areNewer = (bundles: URL[], time: number) => bundles.every((url) => modified(url) > time)
/** When packages were installed. */
const installed = () => modified(new URL('node_modules/.package-lock.json', root))

/** Whether the bundles were made since packages were installed. */
export const areCurrent = () => areNewer([...bundleOf.values()], installed())

/** Makes the bundles unless they are current, and again before tests run again. */
export async function setup(project: TestProject): Promise<void> {
  await makeBundles()
  project.onTestsRerun(makeBundles)
}

async function makeBundles(): Promise<void> {
  const since = installed()
  if (!areNewer(packages.map(nameOf).map(fileOf), since)) {
    await bundle(Object.fromEntries(packages.map((name) => [nameOf(name), name])))
  }
  const sources = globSync('packages/*/src/**/*.ts', { cwd: root })
  const newest = Math.max(since, ...sources.map((file) => modified(new URL(file, root))))
  if (!areNewer([fileOf('writer'), fileOf('main')], newest)) {
    await bundle({ writer: fileURLToPath(writer) }, false)
    await bundle({ main: fileURLToPath(main) }, true, [/^@pubring\//])
  }
}

/**
 * `codeSplitting`: whether what is imported when needed stays in files of its own. `included`: the packages
 * that become part of the bundle, by default all.
 */
async function bundle(
  input: Record<string, string>,
  codeSplitting = true,
  included: true | RegExp[] = true,
): Promise<void> {
  const { build } = await import('vite')
  await build({
    root: fileURLToPath(root),
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    plugins: [{ name: 'addresses', transform: withAddress }],
    ssr: { noExternal: included },
    build: {
      ssr: true,
      target: 'esnext',
      outDir: fileURLToPath(folder),
      emptyOutDir: false,
      rolldownOptions: {
        input,
        output: {
          entryFileNames: '[name].mjs',
          chunkFileNames: `${Object.keys(input)[0]}/[name].mjs`,
          codeSplitting,
        },
      },
    },
  })
}

/** A module finds the files beside it where they are, not beside the bundle. */
const withAddress = (code: string, file: string) =>
  code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href))
