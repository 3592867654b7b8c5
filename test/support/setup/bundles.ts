import { globSync, statSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { TestProject } from 'vitest/node'

const root = new URL('../../../', import.meta.url)
const folder = new URL('node_modules/.cache/test-bundles/', root)

const packages = ['kysely', 'kysely/migration', 'uuid']
/** Every store on SQLite starts it, with a hundred modules. */
const writer = new URL('packages/server/src/writer-thread.ts', root)

const nameOf = (specifier: string) => specifier.replace('/', '-')
const fileOf = (name: string) => new URL(`${name}.mjs`, folder)

/** The bundles that threads and servers load, by what they are imported as. */
export const bundleOf = new Map([
  ...packages.map((name) => [name, fileOf(nameOf(name))] as const),
  [writer.href, fileOf('writer')],
])

const modified = (url: URL) => statSync(url, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Whether the bundles were made since packages were installed. */
export function areCurrent(): boolean {
  const installed = modified(new URL('node_modules/.package-lock.json', root))
  return [...bundleOf.values()].every((url) => modified(url) > installed)
}

/** Makes the bundles unless they are current, and again before tests run again. */
export async function setup(project: TestProject): Promise<void> {
  await makeBundles()
  project.onTestsRerun(makeBundles)
}

async function makeBundles(): Promise<void> {
  const arePackagesCurrent = areCurrent()
  if (!arePackagesCurrent) {
    await bundle(Object.fromEntries(packages.map((name) => [nameOf(name), name])))
  }
  const sources = globSync('packages/*/src/**/*.ts', { cwd: root })
  const newest = Math.max(...sources.map((file) => modified(new URL(file, root))))
  if (!arePackagesCurrent || modified(fileOf('writer')) < newest) {
    await bundle({ writer: fileURLToPath(writer) })
  }
}

async function bundle(input: Record<string, string>): Promise<void> {
  const { build } = await import('vite')
  await build({
    root: fileURLToPath(root),
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    plugins: [{ name: 'addresses', transform: withAddress }],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      target: 'esnext',
      outDir: fileURLToPath(folder),
      emptyOutDir: false,
      rolldownOptions: {
        input,
        output: {
          entryFileNames: '[name].mjs',
          chunkFileNames: 'shared.mjs',
          codeSplitting: Object.keys(input).length > 1,
        },
      },
    },
  })
}

/** A module finds the files beside it where they are, not beside the bundle. */
const withAddress = (code: string, file: string) =>
  code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href))
