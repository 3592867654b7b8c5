import { execFile, execFileSync, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { emptyRoot } from '../../../packages/client/src/log/tree.ts'
import { endLater } from '../ending.ts'
import { freePort } from '../server/process.ts'
import { waitLimitMs, waitUntil } from '../waiting.ts'

const run = promisify(execFile)
const sources = join(import.meta.dirname, '../go')
const path = `${process.env.PATH}:/usr/local/go/bin`
const env = { ...process.env, PATH: path }

/** Whether Go and the tools of OpenSSH are installed, which litewitness needs. */
export const hasGo = ['go', 'ssh-agent', 'ssh-add', 'ssh-keygen'].every((tool) =>
  path.split(':').some((folder) => existsSync(join(folder, tool))),
)

/** Builds litewitness and the programs of test/support/go in the folder, with the pinned versions. */
export async function buildGoTools(folder: string): Promise<void> {
  const packages = ['filippo.io/torchwood/cmd/litewitness', './verify']
  await run('go', ['build', '-o', `${folder}/`, ...packages], { cwd: sources, env })
}

/** Runs Go's verification of a log. Throws with its output if it fails. */
export async function verifyWithGo(folder: string, ...args: string[]): Promise<string> {
  return (await run(join(folder, 'verify'), args)).stdout
}

/** litewitness with a new key, in the folder that it was built in. */
export async function startLitewitness(folder: string) {
  const [socket, key] = [join(folder, 'agent'), join(folder, 'witness-key')]
  const children = [start('ssh-agent', ['-D', '-a', socket])]
  await waitUntil(() => existsSync(socket))
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  execFileSync('ssh-add', ['-q', key], { env: { ...env, SSH_AUTH_SOCK: socket } })
  const [, fingerprint = ''] = execFileSync('ssh-keygen', ['-l', '-f', key]).toString().split(' ')
  const address = `127.0.0.1:${await freePort()}`
  const database = join(folder, 'witness.db')
  const flags = {
    name: 'witness.example/w',
    db: database,
    key: fingerprint,
    'ssh-agent': socket,
    listen: address,
  }
  const witness = start(
    join(folder, 'litewitness'),
    Object.entries(flags).flatMap(([name, value]) => [`-${name}`, value]),
  )
  children.push(witness)
  let output = ''
  witness.stderr?.on('data', (text: Buffer) => {
    output += text
  })
  await waitUntil(() => output.includes('listening'))
  return {
    url: `http://${address}`,
    vkey: /vkey=(\S+)/.exec(output)?.[1] ?? '',
    /** As `witnessctl add-log` and `add-key` do. */
    addLog(logKey: string): void {
      const origin = logKey.replace(/\+.*/, '')
      const db = new DatabaseSync(database, { timeout: waitLimitMs })
      const root = Buffer.from(emptyRoot).toString('base64')
      db.prepare('insert into log (origin, tree_size, tree_hash) values (?, 0, ?)').run(
        origin,
        root,
      )
      db.prepare('insert into key (origin, key) values (?, ?)').run(origin, logKey)
      db.close()
    },
    close: endLater(async () => {
      for (const child of children.reverse()) {
        child.kill('SIGTERM')
        await once(child, 'close')
      }
    }),
  }
}

function start(command: string, args: string[]) {
  const options: SpawnOptions = { env, stdio: ['ignore', 'ignore', 'pipe'] }
  const child = spawn(command, args, options)
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  return child
}
