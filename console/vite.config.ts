import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** Asset URLs are relative, so that both pages, `console/` and `register`, work below any path. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  // The server replaces it with a nonce in each response.
  html: { cspNonce: 'STYLE_NONCE' },
  experimental: {
    renderBuiltUrl: (file, { hostId }) =>
      hostId === 'register.html' ? `console/${file}` : { relative: true },
  },
  plugins: [react(), stylesLast(), precompress()],
  build: {
    outDir: 'dist',
    rolldownOptions: {
      // One chunk of what most pages need compresses better than several.
      output: { codeSplitting: { groups: [{ name: 'base', minShareCount: 8 }] } },
      input: ['index', 'register'].map((page) => join(import.meta.dirname, `${page}.html`)),
    },
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})

/** Moves the style sheet behind the text that a browser shows while it loads. */
function stylesLast(): Plugin {
  return {
    name: 'pubring-styles-last',
    transformIndexHtml: {
      order: 'post',
      handler(html) {
        const [link = ''] = /<link rel="stylesheet"[^>]*>/.exec(html) ?? []
        return html.replace(link, '').replace('<div id="root">', `${link}\n    $&`)
      },
    },
  }
}

/** Writes a `.br` and a `.gz` beside each text file, for the server to send. */
function precompress(): Plugin {
  return {
    name: 'pubring-precompress',
    apply: 'build',
    async writeBundle({ dir = '' }, bundle) {
      const names = Object.keys(bundle).filter((name) => /\.(js|css)$/.test(name))
      await Promise.all(names.map((name) => compress(join(dir, name))))
    },
  }
}

async function compress(file: string): Promise<void> {
  const source = await readFile(file)
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  await writeFile(`${file}.br`, brotliCompressSync(source, { params }))
  await writeFile(`${file}.gz`, gzipSync(source, { level: constants.Z_BEST_COMPRESSION }))
}
