import { dirname, join, relative } from 'node:path'
import { build, type Plugin } from 'vite'

const root = join(import.meta.dirname, '..')

/** The place of a source file in a bundle, as in the checkout. */
const compiledPath = (file: string) => `${relative(root, file).replace(/\.ts$/, '')}.js`

/**
 * Bundles a module with our packages and those of `included` into `outDir`. What it imports when needed,
 * and its threads, are files at their places, which share others in `chunks/`.
 */
export async function bundle(
  module: string,
  outDir: string,
  included: readonly string[],
): Promise<void> {
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    plugins: [placesOfSources],
    ssr: { noExternal: [/^@pubring\//, ...included] },
    build: {
      ssr: module,
      target: 'esnext',
      outDir,
      emptyOutDir: false,
      rolldownOptions: {
        output: {
          entryFileNames: ({ facadeModuleId }) => compiledPath(facadeModuleId ?? ''),
          chunkFileNames: ({ facadeModuleId, name }) =>
            facadeModuleId ? compiledPath(facadeModuleId) : `chunks/${name}.js`,
        },
      },
    },
  })
}

const pathToRoot = '__PATH_TO_ROOT__'

/** Lets modules find the files beside them, and their threads. */
const placesOfSources: Plugin = {
  name: 'places-of-sources',
  // Before the types are stripped, which changes quotes.
  enforce: 'pre',
  transform(code, file) {
    for (const [, thread = ''] of code.matchAll(/siblingModule\(import\.meta\.url, '(.+?)'\)/g)) {
      const id = join(dirname(file), `${thread}.ts`)
      this.emitFile({ type: 'chunk', id, fileName: compiledPath(id) })
    }
    const place = `new URL('${pathToRoot}/${compiledPath(file)}', import.meta.url).href`
    return code.replaceAll('import.meta.url', place)
  },
  renderChunk: (code, { fileName }) =>
    code.replaceAll(pathToRoot, relative(dirname(fileName), '') || '.'),
}
