import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** Addresses are relative, so that the console works below any path; routes are in the fragment. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  // The server puts a nonce of each answer in its place.
  html: { cspNonce: 'STYLE_NONCE' },
  plugins: [react(), compressed()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})

/** Beside each text file its `.br` and `.gz`, for the server to send as they are. */
function compressed(): Plugin {
  return {
    name: 'pubring-compressed',
    apply: 'build',
    async writeBundle({ dir = '' }, bundle) {
      const texts = Object.keys(bundle).filter((name) => /\.(js|css)$/.test(name))
      await Promise.all(texts.map((name) => compress(join(dir, name))))
    },
  }
}

async function compress(file: string): Promise<void> {
  const source = await readFile(file)
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  await writeFile(`${file}.br`, brotliCompressSync(source, { params }))
  await writeFile(`${file}.gz`, gzipSync(source, { level: constants.Z_BEST_COMPRESSION }))
}
