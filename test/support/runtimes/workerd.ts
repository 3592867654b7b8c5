import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'
import { freePort } from '../server/process.ts'

/** The path of a program of the test packages. */
export function installed(program: string): string {
  return join(import.meta.dirname, '../../node_modules/.bin', program)
}

/** One file with a program and all that it imports. `constants` replaces names in it. */
export async function bundle(entry: string, constants: Record<string, string>): Promise<string> {
  const define = Object.entries(constants).map(([name, value]) => [name, JSON.stringify(value)])
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    define: Object.fromEntries(define),
    build: {
      write: false,
      minify: false,
      target: 'esnext',
      lib: { entry: join(import.meta.dirname, entry), formats: ['es'] },
    },
  })
  const [output] = [built].flat()
  if (output === undefined || !('output' in output)) throw new Error('Nothing was bundled.')
  return output.output[0].code
}

/** Cloudflare's runtime with a worker, without the local layers of its development tools. */
export async function startWorker(code: string): Promise<{ url: string; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-worker-'))
  writeFileSync(join(folder, 'worker.js'), code)
  const port = await freePort()
  writeFileSync(join(folder, 'config.capnp'), configuration(port))
  const child = spawn(installed('workerd'), ['serve', join(folder, 'config.capnp')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  while (child.exitCode === null && !(await fetch(url).catch(() => undefined))) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    url,
    async close() {
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true })
    },
  }
}

function configuration(port: number): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "worker.js")],
      compatibilityDate = "2024-09-23",
    )),
    (name = "internet", network = (allow = ["private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`
}
