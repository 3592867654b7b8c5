import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../../../', import.meta.url)
const folder = new URL('node_modules/.cache/test-bundles/', root)

/** The bundles of packages that threads and servers load, by what the packages are imported as. */
export const bundleOf = new Map(
  ['kysely', 'kysely/migration', 'uuid'].map((name) => [
    name,
    new URL(`${name.replace('/', '-')}.mjs`, folder),
  ]),
)

const modified = (url: URL) => statSync(url, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Whether the bundles were made since packages were installed. */
export function areCurrent(): boolean {
  const installed = modified(new URL('node_modules/.package-lock.json', root))
  return [...bundleOf.values()].every((url) => modified(url) > installed)
}

/** Makes the bundles unless they are current. */
export async function setup(): Promise<void> {
  if (areCurrent()) return
  const { build } = await import('vite')
  const input = [...bundleOf.keys()].map((name) => [name.replace('/', '-'), name])
  await build({
    root: fileURLToPath(root),
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    ssr: { noExternal: true },
    build: {
      ssr: true,
      target: 'esnext',
      outDir: fileURLToPath(folder),
      emptyOutDir: false,
      rolldownOptions: {
        input: Object.fromEntries(input),
        output: { entryFileNames: '[name].mjs', chunkFileNames: 'shared.mjs' },
      },
    },
  })
}
