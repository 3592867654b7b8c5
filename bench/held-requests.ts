/**
 * What requests cost that wait for news of a key set: memory and CPU of the server while they wait,
 * for one project and for as many projects as requests, and how long until the last one has heard
 * of a change. Linux. Run: `node bench/held-requests.ts [count]`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'

const count = Number(process.argv[2] ?? 5_000)
const seconds = 20
const port = 18_080
const base = `http://127.0.0.1:${port}`
const print = (line: string) => process.stdout.write(`${line}\n`)

interface Usage {
  rssMib: number
  cpuMs: number
}

function usageOf(pid: number): Usage {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const [, kib = '0'] = /VmRSS:\s+(\d+) kB/.exec(status) ?? []
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return { rssMib: Number(kib) / 1024, cpuMs: (Number(fields[11]) + Number(fields[12])) * 10 }
}

async function start(
  folder: string,
): Promise<{ child: ChildProcess; pid: number; apiKey: string }> {
  const main = join(import.meta.dirname, '../src/main.ts')
  const child = spawn(process.execPath, [main, 'serve'], {
    cwd: folder,
    env: { PATH: process.env.PATH, PUBRING_PORT: String(port), PUBRING_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  for (;;) {
    const [apiKey] = /pubring_\w+/.exec(output) ?? []
    if (apiKey !== undefined && child.pid !== undefined) return { child, pid: child.pid, apiKey }
    await delay(50)
  }
}

/** Sends one request on a connection of its own; resolves with the moment of the answer. */
function ask(path: string, headers: string[]): { socket: Socket; answered: Promise<number> } {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => socket.destroy())
  socket.write([`GET ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n'))
  return { socket, answered: once(socket, 'data').then(() => performance.now()) }
}

async function measure(pid: number, label: string): Promise<Usage> {
  const before = usageOf(pid)
  await delay(seconds * 1_000)
  const after = usageOf(pid)
  const share = ((after.cpuMs - before.cpuMs) / (seconds * 1_000)) * 100
  print(`${label}: ${after.rssMib.toFixed(0)} MiB resident, ${share.toFixed(1)} % of a core`)
  return after
}

async function hold(paths: string[], etag: string) {
  const held = []
  for (const path of paths) {
    held.push(ask(path, [`If-None-Match: ${etag}`, 'Prefer: wait=60']))
    if (held.length % 200 === 0) await delay(20)
  }
  await delay(2_000)
  return held
}

const folder = mkdtempSync(join(tmpdir(), 'pubring-bench-'))
const { child, pid, apiKey } = await start(folder)
try {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' })
  const keys = `${base}/v1/projects/default/jwt-keys`
  const body = JSON.stringify({ name: 'bench', algorithm: 'RS256', publicKeyPem })
  const created = await fetch(keys, { method: 'POST', headers, body })
  const { kid }: { kid: string } = JSON.parse(await created.text())
  const jwks = (name: string) => `/v1/projects/${name}/.well-known/jwks.json`
  const etag = String((await fetch(base + jwks('default'))).headers.get('etag'))
  const idle = await measure(pid, 'idle server')

  const open = Array.from({ length: count }, () => ask(jwks('default'), []))
  await Promise.all(open.map(({ answered }) => answered))
  const connected = await measure(pid, `${count} idle connections`)
  for (const { socket } of open) socket.destroy()
  await delay(1_000)

  const held = await hold(
    Array.from({ length: count }, () => jwks('default')),
    etag,
  )
  const waiting = await measure(pid, `${count} held requests, one project`)
  const each = (usage: Usage) => (((usage.rssMib - idle.rssMib) * 1024) / count).toFixed(1)
  print(`per connection: ${each(connected)} KiB idle, ${each(waiting)} KiB held`)
  const patch = JSON.stringify({ active: false })
  await fetch(`${keys}/${kid}`, { method: 'PATCH', headers, body: patch })
  const began = performance.now()
  const moments = await Promise.all(held.map(({ answered }) => answered))
  const last = Math.max(...moments) - began
  print(`all ${count} heard of the change ${last.toFixed(0)} ms after it was acknowledged`)
  for (const { socket } of held) socket.destroy()

  const names = Array.from({ length: count }, (_, i) => `bench-${i}`)
  for (let i = 0; i < count; i += 100) {
    await Promise.all(
      names
        .slice(i, i + 100)
        .map((name) =>
          fetch(`${base}/v1/projects`, { method: 'POST', headers, body: JSON.stringify({ name }) }),
        ),
    )
  }
  const empty = String((await fetch(base + jwks('bench-0'))).headers.get('etag'))
  const spread = await hold(names.map(jwks), empty)
  await measure(pid, `${count} held requests, ${count} projects`)
  const stopping = performance.now()
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  const took = (performance.now() - stopping).toFixed(0)
  await Promise.all(spread.map(({ answered }) => answered))
  print(`SIGTERM: all ${count} answered, exit ${code} after ${took} ms`)
  for (const { socket } of spread) socket.destroy()
} finally {
  child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
